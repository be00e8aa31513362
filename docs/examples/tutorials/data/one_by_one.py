import leafwise as lw
from files import read, tree_of_files


files = tree_of_files()
print(lw.tree_map(lambda file: file.name, files))
lw.tree_map(read, files)
