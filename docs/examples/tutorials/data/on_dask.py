from distributed import Client

import leafwise as lw
from files import spread


def tell(done, total, path):
    print(f"{done} of {total} done")


if __name__ == "__main__":
    numbers = {"oslo": [4.0, 5.0, 9.0], "rome": [13.0, 15.0, 20.0]}
    with Client(processes=False, dashboard_address=":0") as client:
        executor = client.get_executor(pure=False)
        parallel = lw.parallel(executor, progress=tell)
        print(parallel.tree_map(spread, numbers, is_leaf=list))
