// Runs pytest under Pyodide, the CPython that browsers run:
//
//     npm install --prefix DIR pyodide
//     pip install --target DIR/site --only-binary :all: --platform any ... pytest ...
//     node tests/pyodide/run.mjs DIR [arguments of pytest]
//
// (`nox -s pyodide` runs these commands.) The checkout and DIR/site are mounted, nothing
// is copied or installed; what tests write to the temporary folder stays in memory. The exit
// code is pytest's.
import { dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const [folder, ...args] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node run.mjs FOLDER_WITH_PYODIDE_AND_SITE [arguments of pytest]");
  process.exit(2);
}
const modules = resolve(folder, "node_modules/pyodide");
const { loadPyodide } = await import(pathToFileURL(`${modules}/pyodide.mjs`).href);

const write = (stream) => ({ write: (bytes) => (stream.write(Buffer.from(bytes)), bytes.length) });
const pyodide = await loadPyodide({
  indexURL: modules,
  args: ["-X", "utf8"],
  env: {
    HOME: "/home/pyodide",
    PYTHONDONTWRITEBYTECODE: "1",
    ...Object.fromEntries(
      Object.entries(process.env).filter(([name]) => name.startsWith("LEAFWISE_")),
    ),
  },
});
pyodide.setStdout(write(process.stdout));
pyodide.setStderr(write(process.stderr));
for (const [place, host] of [["/repo", root], ["/site", resolve(folder, "site")]]) {
  pyodide.mountNodeFS(place, host);
}
pyodide.globals.set("args", pyodide.toPy(args));
try {
  process.exitCode = pyodide.runPython(`
import os, platform, sys
os.chdir("/repo")
sys.path[:0] = ["/repo/src", "/site"]
print("Python", platform.python_version(), "on", sys.platform, platform.machine(), flush=True)
import pytest

plain = ["-p", "no:cacheprovider"]
peers = [f"--ignore=tests/{name}" for name in ("oracle", "compat")]
int(pytest.main([*plain, *peers, *args]))
`);
} catch (error) {
  // not thrown on: node would print the line of it, and that is all of Pyodide
  console.error(String(error.stack ?? error));
  process.exitCode = 1;
}
