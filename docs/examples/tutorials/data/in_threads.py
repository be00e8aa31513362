from concurrent.futures import ThreadPoolExecutor

import leafwise as lw
from files import read, tree_of_files


with ThreadPoolExecutor(8) as pool:
    parallel = lw.parallel(pool, progress=True, errors="collect")
    numbers = parallel.tree_map(read, tree_of_files())

bad = lw.at(numbers)[Exception]
for path, error in bad.items():
    print(path, "failed:", error)
good = bad.delete()
print(good)
