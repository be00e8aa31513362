"""All checks, as nox sessions: `nox -l` lists them, `nox -s lint` runs one.

`.ci/run` runs all of them but `fuzz` in a copy of the checkout, the workflows some.
A session that would change the checkout (`readme`, the deleted engine) works in a copy
of it.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import nox


PYTHONS = ["3.11", "3.12", "3.13", "3.14", "3.15"]

OLDEST = "3.11"
MAIN = "3.13"
"""The Python of all that runs on one: the newest that has nearly all peers."""

WITH_PEERS = [OLDEST, "3.12", MAIN]
"""The Pythons on which the suite runs beside the peers."""

SUITE = ["-m", "pytest", "-q"]
"""The arguments of Python that run the tests."""

QUICK = [*SUITE, "--hypothesis-profile=quick"]
"""The same with more random examples, and with all places of the sweeps."""

ENGINE_FOLDERS = ("core", "ops", "engine", "laws", "equality", "nn", "selection")
"""The folders of tests whose results could depend on the engine."""

SLOW_TESTS = {
    OLDEST: ["tests/oracle/test_torch.py"],
    MAIN: ["tests/typing", "tests/compat/test_clients_jax.py"],
}
"""The slow tests that run each time: of compilers, type checkers, other libraries."""

MISSING_PEERS = {
    "3.11": "autoform",
    "3.12": "torch flax ray",
    "3.13": "torch ray autoform",
}
"""Peers and clients that are too large for a Python, or are tested on another one."""

PYODIDE = "pyodide@314.0.7"
PYODIDE_REQUIREMENTS = [
    "hypothesis==6.155.7",
    "pytest",
    "ruamel.yaml",
    "sybil",
    "tomlkit",
    "tqdm",
]

SKIP_REASONS = ("not on this Python", "it cannot be a key", "root may do anything")
"""The reasons for which a test may be skipped although all peers are installed."""

nox.options.default_venv_backend = "virtualenv"  # its pip knows dependency groups
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = [f"tests-{MAIN}", "lint"]


def install(session: nox.Session, *groups: str) -> None:
    """Install leafwise in place, and dependency groups."""
    arguments = ["--no-compile"]  # compiling everything takes longer than it saves
    arguments += ["-e", "."]
    for group in groups:
        arguments += ["--group", group]
    session.install(*arguments)


def copy_checkout(session: nox.Session) -> Path:
    """Copy the files that git has or would add, and return the folder."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    folder = Path(session.create_tmp()) / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    for name in output.split("\0"):
        if not os.path.isfile(name):  # deleted, and git does not know yet; or empty
            continue
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(name, target)
    return folder


@nox.session(python=[OLDEST, MAIN])
def readme(session: nox.Session) -> None:
    """Run the two commands of the README, each in a fresh copy."""
    text = Path("README.md").read_text(encoding="utf-8")
    _, setup = text.split("## Set up")
    _, block = setup.split("```sh\n", maxsplit=1)
    block, _, _ = block.partition("```")
    commands = block.splitlines()
    assert len(commands) == 2, commands
    for command in commands:
        folder = copy_checkout(session)
        # `python3` of the command is the Python of this session
        programs = folder / ".programs"
        programs.mkdir()
        (programs / "python3").symlink_to(Path(session.bin, "python").resolve())
        path = f"{programs}:{os.environ['PATH']}"
        with session.chdir(folder):
            session.run("bash", "-euc", command, external=True, env={"PATH": path})


@nox.session(python=[*PYTHONS, "3.14t", "3.15t"])
def tests(session: nox.Session) -> None:
    """Run the test suite as a contributor does."""
    install(session, "test")
    session.run("python", *SUITE, *session.posargs)


@nox.session(python=WITH_PEERS)
def peers(session: nox.Session) -> None:
    """Run the suite with the peers that a Python has, and what each Python adds.

    On 3.13, which has the newest jax and flax: slow tests, and what could depend on the
    engine with it off. On 3.12: the coverage, and the same with the engine deleted. On
    3.11, with torch and the last jax and flax for it: the same with an eager engine,
    and the rest of the suite.
    """
    version = str(session.python)
    install(session, "interop", "clients", "dev", "pages", "test")
    session.env["LEAFWISE_PEERS"] = "required"
    session.env["LEAFWISE_WITHOUT"] = MISSING_PEERS[version]
    if version == MAIN:
        run_with_newest_peers(session)
    elif version == "3.12":
        run_with_coverage(session)
        run_without_engine(session)
    else:
        run_with_eager_engine(session)


def run_with_newest_peers(session: nox.Session) -> None:
    """Run the suite, slow tests, and what could depend on the engine with it off."""
    install_browser(session)
    diagrams = npm_install(session, "mermaid@11.17.2", "jsdom@29.1.1")
    session.env["LEAFWISE_NODE"] = str(diagrams)
    # not the folder of nox: pyrefly and ty leave out what git ignores
    session.env["TMPDIR"] = "/tmp"
    run_and_check_skips(session, *QUICK)
    slow_tests = session.posargs or SLOW_TESTS[MAIN]
    run_and_check_skips(session, *QUICK, "-m", "slow", *slow_tests)
    session.env["LEAFWISE_ENGINE"] = "0"
    session.run("python", *SUITE, *engine_tests())


def run_with_coverage(session: nox.Session) -> None:
    """Run the suite, and fail if too little of the source is covered."""
    session.env["COVERAGE_CORE"] = "sysmon"
    # a fork or an exception of a signal handler, raised while coverage holds its lock,
    # leaves the lock closed
    ignored = ["--ignore=tests/fuzz", "--ignore=tests/files/test_interrupts.py"]
    session.run("coverage", "run", *SUITE, "-p", "no:asyncio", *ignored)
    session.run("coverage", "combine", "-q")
    session.run("coverage", "report")


def run_without_engine(session: nox.Session) -> None:
    """Run what could depend on the engine in a copy that has none."""
    folder = copy_checkout(session)
    shutil.rmtree(folder / "src" / "leafwise" / "engine")
    session.env["PYTHONPATH"] = str(folder.resolve() / "src")
    with session.chdir(folder):
        session.run("python", *SUITE, "-p", "no:asyncio", *engine_tests())


def run_with_eager_engine(session: nox.Session) -> None:
    """Run what could depend on the engine with an eager one, else as it is."""
    # not the folder of nox: the paths of ray's sockets have to be short
    session.env["TMPDIR"] = "/tmp"
    ignored = [f"--ignore={folder}" for folder in engine_tests()]
    session.run("python", *SUITE, "-p", "no:asyncio", *ignored)
    run_and_check_skips(session, *QUICK, "-m", "slow", *SLOW_TESTS[OLDEST])
    session.env["LEAFWISE_ENGINE"] = "eager"
    session.run("python", *SUITE, "-p", "no:asyncio", *engine_tests())


def engine_tests() -> list[str]:
    """Return the paths of the tests that could depend on the engine."""
    return [f"tests/{name}" for name in ENGINE_FOLDERS]


def npm_install(session: nox.Session, *packages: str) -> Path:
    """Install packages of npm; return the folder."""
    folder = Path(session.create_tmp(), "node").resolve()
    options = ["--silent", "--no-audit", "--no-fund", "--prefix", str(folder)]
    session.run("npm", "install", *options, *packages, external=True)
    return folder


def install_browser(session: nox.Session) -> None:
    """Install Chromium, unless there is a browser."""
    if shutil.which("chromium") or shutil.which("google-chrome"):
        return
    # another session may run apt-get at the same time
    apt_get = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=600"]
    options = ["-y", "--no-install-recommends"]
    session.run(*apt_get, "update", external=True)
    session.run(*apt_get, "install", *options, "chromium", external=True)


def run_and_check_skips(session: nox.Session, *arguments: str) -> None:
    """Run tests; fail if one is skipped for a reason that is not expected."""
    output = session.run("python", *arguments, "-rfEs", silent=True)
    assert isinstance(output, str)
    print(output[-8_000:])
    unexpected = []
    for line in output.splitlines():
        is_expected = any(reason in line for reason in SKIP_REASONS)
        if line.startswith("SKIPPED") and not is_expected:
            unexpected.append(line)
    if unexpected:
        session.error("tests with peers were skipped:\n" + "\n".join(unexpected))


@nox.session(python=OLDEST)
def lint(session: nox.Session) -> None:
    """Check style, types and import layers.

    On the oldest Python: there, type checkers find what later ones have added.
    """
    install(session, "dev", "test")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("pyright")
    check_public_types(session)
    session.run("lint-imports")


def check_public_types(session: nox.Session) -> None:
    """Fail if a type checker cannot know the type of a public name.

    Types that it has to infer are let through, as are the stand-ins for other libraries
    (`leafwise.compat`): pyright counts both as incomplete, so its status is 1.
    """
    command = ["pyright", "--verifytypes", "leafwise", "--ignoreexternal"]
    output = session.run(*command, "--outputjson", silent=True, success_codes=[0, 1])
    assert isinstance(output, str)
    _, brace, report = output.partition("{")  # a note on new versions may come first
    unknown = []
    for symbol in json.loads(brace + report)["typeCompleteness"]["symbols"]:
        is_known = symbol["isTypeKnown"] or symbol["isTypeAmbiguous"]
        is_stand_in = symbol["name"].startswith("leafwise.compat.")
        if symbol["isExported"] and not is_known and not is_stand_in:
            unknown.append(symbol["name"])
    if unknown:
        session.error("public names of unknown type:\n" + "\n".join(unknown))


@nox.session(python=MAIN)
def package(session: nox.Session) -> None:
    """Build the package from the checkout and from its own sdist; both are the same."""
    session.install("build", "twine")
    folder = Path(session.create_tmp()).resolve()
    shutil.rmtree(folder)
    from_sdist = folder / "both"
    from_checkout = folder / "wheel"
    session.run("python", "-m", "build", "-o", str(from_sdist), ".")
    session.run("python", "-m", "build", "-w", "-o", str(from_checkout), ".")
    (wheel,) = from_sdist.glob("*.whl")
    assert wheel.read_bytes() == (from_checkout / wheel.name).read_bytes()
    files = [str(path) for path in from_sdist.iterdir()]
    session.run("twine", "check", "--strict", *files)


@nox.session(python=[OLDEST, MAIN])
def docs(session: nox.Session) -> None:
    """Build the site and look at it in a browser; follow the tutorials."""
    install(session, "docs", "pages", "test")
    install_browser(session)
    site = str(Path(session.create_tmp(), "html").resolve())
    session.run("sphinx-build", "-n", "-W", "-q", "-b", "html", "docs", site)
    programs = npm_install(session, PYODIDE) / "node_modules" / "pyodide"
    session.env["LEAFWISE_SITE"] = site
    session.env["LEAFWISE_PYODIDE"] = str(programs)
    session.env["LEAFWISE_TUTORIALS"] = "1"
    # `-m ""` runs slow tests, too
    session.run("python", *SUITE, "-m", "", "tests/docs/test_built_site.py")
    session.run("python", *SUITE, "-m", "slow", "tests/docs/test_tutorials.py")


@nox.session(python=MAIN)
def pyodide(session: nox.Session) -> None:
    """Run the tests that need neither threads nor processes as browsers do."""
    folder = npm_install(session, PYODIDE)
    session.run("pip", "wheel", "-q", "--no-deps", "-w", str(folder), ".")
    wheels = [str(path) for path in folder.glob("leafwise-*-py3-none-any.whl")]
    # pip of this session installs for another interpreter, which has no binaries
    pip_install = ["pip", "install", "-q", "--upgrade", "--no-compile"]
    pip_install += ["--target", str(folder / "site")]
    interpreter = [
        "--only-binary=:all:",
        "--platform=any",
        "--python-version=3.14",
        "--implementation=py",
        "--abi=none",
    ]
    session.run(*pip_install, *interpreter, *wheels, *PYODIDE_REQUIREMENTS)
    run_tests = ["node", "tests/pyodide/run.mjs", str(folder), "-q"]
    output = session.run(*run_tests, silent=True, external=True)
    assert isinstance(output, str)
    print(output[-4_000:])
    if " passed" not in output:  # node may end without an error before the tests do
        session.error("no tests were run")


@nox.session(python=MAIN)
def fuzz(session: nox.Session) -> None:
    """Run properties with more examples, the same each time, or as arguments say."""
    install(session, "interop", "test")
    session.env["LEAFWISE_EXAMPLES"] = "25"
    default = ["--seed", "1", "tests/fuzz", "tests/compat", "tests/laws"]
    session.run("python", "-m", "tests.fuzz", *(session.posargs or default))


@nox.session(python=MAIN)
def benchmarks(session: nox.Session) -> None:
    """Run the main benchmarks, briefly."""
    install(session, "bench", "test")
    for name in ("run", "optree_table", "objects", "classes", "threads"):
        session.run("python", f"benchmarks/{name}.py", "--quick")
