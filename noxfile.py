"""What must hold, as sessions of nox: `nox -l` lists them, `nox -s lint` runs one.

`.ci/run` runs all of them but `fuzz` in a copy of the checkout, the workflows some.
What would change the checkout (`readme`, the deleted engine) is done in a copy of it.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import nox


PYTHONS = ["3.11", "3.12", "3.13"]
SUITE = ["-m", "pytest", "-q"]
QUICK = [*SUITE, "--hypothesis-profile=quick"]
"""The same with more examples, and with all places of the sweeps."""
LIBRARY = "core ops engine laws equality nn selection"
"""The folders of tests whose results could depend on the engine."""
SLOW = ["tests/typing", "tests/oracle/test_torch.py"]
SLOW += ["tests/compat/test_clients_jax.py"]
"""Whose slow tests run each time: of type checkers, compilers, other libraries."""
WITHOUT = {"3.11": "autoform", "3.12": "torch flax ray"}
WITHOUT["3.13"] = WITHOUT["3.12"] + " autoform"
"""Peers and clients that have no package for a Python, or are tested on another one."""
PYODIDE = "pyodide@314.0.7"
EXPECTED = "not on this Python", "it cannot be a key", "root may do anything"
"""The reasons for which a test may be skipped although all peers are there."""

nox.options.default_venv_backend = "virtualenv"  # its pip knows groups
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["tests-3.11", "lint"]


def install(session: nox.Session, *groups: str) -> None:
    """Install leafwise and groups of dependencies, without the time for bytecode."""
    wanted = [word for group in groups for word in ("--group", group)]
    session.install("--no-compile", "-e", ".", *wanted)


def copy(session: nox.Session) -> Path:
    """Return a copy of what the checkout has and git would keep."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, capture_output=True, check=True, text=True).stdout
    folder = Path(session.create_tmp()) / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    for name in filter(os.path.isfile, names.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(name, folder / name)
    return folder


@nox.session(python=PYTHONS[0])
def readme(session: nox.Session) -> None:
    """The two commands of the README, each in a fresh copy."""
    setup = Path("README.md").read_text(encoding="utf-8").split("## Set up")[1]
    commands = setup.split("```sh\n")[1].split("```")[0].splitlines()
    assert len(commands) == 2, commands
    for command in commands:
        folder = copy(session)
        programs = folder / ".programs"
        programs.mkdir()
        (programs / "python3").symlink_to(Path(session.bin, "python").resolve())
        with session.chdir(folder):
            path = f"{programs}:{os.environ['PATH']}"
            session.run("bash", "-euc", command, external=True, env={"PATH": path})


@nox.session(python=[*PYTHONS, "3.14"])
def tests(session: nox.Session) -> None:
    """The test-suite, as a contributor runs it."""
    install(session, "test")
    session.run("python", "-m", "pytest", "-q", *session.posargs)


@nox.session(python=PYTHONS)
def peers(session: nox.Session) -> None:
    """The suite beside the peers that a Python has, and what each Python adds.

    On 3.11, which has all of them: slow tests, and what could depend on the engine with
    it off. On 3.12: what is covered, and the same with the engine deleted. On 3.13: the
    same with an eager engine, and the rest of the suite.
    """
    version = str(session.python)
    install(session, "interop", "clients", "dev", "pages", "test")
    session.env["LEAFWISE_PEERS"] = "required"
    session.env["LEAFWISE_WITHOUT"] = WITHOUT[version]
    library = [f"tests/{name}" for name in LIBRARY.split()]
    if version == "3.11":
        browser(session)
        diagrams = npm(session, "mermaid@11.17.2", "jsdom@29.1.1")
        session.env["LEAFWISE_NODE"] = str(diagrams)
        # not the folder of nox: names of ray's sockets have to be short
        session.env["TMPDIR"] = "/tmp"
        suite(session, "python", *QUICK)
        suite(session, "python", *QUICK, "-m", "slow", *(session.posargs or SLOW))
        session.env["LEAFWISE_ENGINE"] = "0"
        session.run("python", *SUITE, *library)
    elif version == "3.12":
        session.env["COVERAGE_CORE"] = "sysmon"
        # forks and exceptions of signals inside of the measuring leave its lock closed
        signals = ["--ignore=tests/fuzz", "--ignore=tests/io/test_interrupts.py"]
        session.run("coverage", "run", *SUITE, "-p", "no:asyncio", *signals)
        session.run("coverage", "combine", "-q")
        session.run("coverage", "report")
        folder = copy(session)
        shutil.rmtree(folder / "src" / "leafwise" / "engine")
        session.env["PYTHONPATH"] = str(folder.resolve() / "src")
        with session.chdir(folder):
            session.run("python", *SUITE, "-p", "no:asyncio", *library)
    else:
        rest = [f"--ignore={folder}" for folder in library]
        session.run("python", *SUITE, "-p", "no:asyncio", *rest)
        session.env["LEAFWISE_ENGINE"] = "eager"
        session.run("python", *SUITE, "-p", "no:asyncio", *library)


def npm(session: nox.Session, *packages: str) -> Path:
    """Install packages of npm; return the folder."""
    folder = Path(session.create_tmp(), "node").resolve()
    quiet = ["--silent", "--no-audit", "--no-fund", "--prefix", str(folder)]
    session.run("npm", "install", *quiet, *packages, external=True)
    return folder


def browser(session: nox.Session) -> None:
    """Install Chromium, unless it is there."""
    if not (shutil.which("chromium") or shutil.which("google-chrome")):
        wait = ["-qq", "-o", "DPkg::Lock::Timeout=600"]
        session.run("apt-get", *wait, "update", external=True)
        wanted = ["-y", "--no-install-recommends", "chromium"]
        session.run("apt-get", *wait, "install", *wanted, external=True)


def suite(session: nox.Session, *command: str) -> None:
    """Run tests with peers; a test that was skipped for another reason is an error."""
    output = session.run(*command, "-rfEs", silent=True)
    assert isinstance(output, str)
    print(output[-8_000:])
    skipped = [line for line in output.splitlines() if line.startswith("SKIPPED")]
    wrong = [line for line in skipped if not any(why in line for why in EXPECTED)]
    if wrong:
        session.error("tests with peers were skipped:\n" + "\n".join(wrong))


@nox.session(python=PYTHONS[0])
def lint(session: nox.Session) -> None:
    """Style, types, import layers."""
    install(session, "dev", "test")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("pyright")
    session.run("lint-imports")


@nox.session(python=PYTHONS[0])
def package(session: nox.Session) -> None:
    """The package: built twice, from the checkout and from its own sdist."""
    session.install("build", "twine")
    folder = Path(session.create_tmp()).resolve()
    shutil.rmtree(folder)
    session.run("python", "-m", "build", "-o", f"{folder / 'both'}", ".")
    session.run("python", "-m", "build", "-w", "-o", f"{folder / 'wheel'}", ".")
    (wheel,) = (folder / "both").glob("*.whl")
    assert wheel.read_bytes() == (folder / "wheel" / wheel.name).read_bytes()
    session.run("twine", "check", "--strict", *map(str, (folder / "both").iterdir()))


@nox.session(python=PYTHONS[0])
def docs(session: nox.Session) -> None:
    """The site, its links, in a browser; the tutorials, each from an empty folder."""
    install(session, "docs", "pages", "test")
    browser(session)
    site = str(Path(session.create_tmp(), "html").resolve())
    session.run("sphinx-build", "-n", "-W", "-q", "-b", "html", "docs", site)
    programs = npm(session, PYODIDE) / "node_modules" / "pyodide"
    session.env["LEAFWISE_SITE"] = site
    session.env["LEAFWISE_PYODIDE"] = str(programs)
    session.env["LEAFWISE_TUTORIALS"] = "1"
    session.run("python", *SUITE, "-m", "", "tests/docs/test_built_site.py")
    session.run("python", *SUITE, "-m", "slow", "tests/docs/test_tutorials.py")


@nox.session(python=PYTHONS[0])
def pyodide(session: nox.Session) -> None:
    """The tests that need no threads and no processes, in the CPython of browsers."""
    folder = npm(session, PYODIDE)
    session.run("pip", "wheel", "-q", "--no-deps", "-w", str(folder), ".")
    needs = ["hypothesis==6.155.7", "pytest", "ruamel.yaml", "sybil", "tomlkit", "tqdm"]
    kind = [
        "--platform=any",
        "--python-version=3.14",
        "--implementation=py",
        "--abi=none",
    ]
    pure = [
        "--no-compile",
        "--only-binary=:all:",
        *kind,
        "--target",
        str(folder / "site"),
    ]
    wheels = map(str, folder.glob("leafwise-*-py3-none-any.whl"))
    session.run("pip", "install", "-q", "--upgrade", *pure, *wheels, *needs)
    told = session.run(
        "node", "tests/pyodide/run.mjs", str(folder), "-q", silent=True, external=True
    )
    print(str(told)[-4_000:])
    passed = re.search(r"(\d+) passed", str(told))
    assert int(passed[1] if passed else 0) > 1_500, "too few tests"


@nox.session(python=PYTHONS[0])
def fuzz(session: nox.Session) -> None:
    """The properties with more examples, the same each time, or what arguments say."""
    install(session, "interop", "test")
    folders = ["tests/fuzz", "tests/compat", "tests/laws"]
    session.env["LEAFWISE_EXAMPLES"] = "25"
    arguments = session.posargs or ["--seed", "1", *folders]
    session.run("python", "-m", "tests.fuzz", *arguments)


@nox.session(python=PYTHONS[0])
def benchmarks(session: nox.Session) -> None:
    """The two main benchmarks, short."""
    install(session, "bench", "test")
    for name in ("run", "objects"):
        session.run("python", f"benchmarks/{name}.py", "--quick")
