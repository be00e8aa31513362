from concurrent.futures import ProcessPoolExecutor

import leafwise as lw
from files import spread


if __name__ == "__main__":
    numbers = {"oslo": [4.0, 5.0, 9.0], "rome": [13.0, 15.0, 20.0]}
    with ProcessPoolExecutor(2) as pool:
        parallel = lw.parallel(pool, chunk=10)
        print(parallel.tree_map(spread, numbers, is_leaf=list))
