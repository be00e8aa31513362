// Examples that run in the page: a button at each code block, CPython as WebAssembly behind it.
//
// Nothing is loaded before the first click. Without scripts the page is as it was. A block with
// prompts runs after those above it, as in a session. A program that the page runs in a shell gets
// the same arguments, and the files of the page; the programs above it run first, as some of them
// write files.
(() => {
  const setting = (name) => document.querySelector(`meta[name="${name}"]`)?.content;
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
  const NOT_HERE =
    /^\s*(?:import|from)\s+(?:jax|torch|optree|tree|flax|equinox|optax|dask|distributed|hypothesis|multiprocessing|concurrent|threading|subprocess|tqdm|rich|hydra|omegaconf|pydantic)\b/m;

  const HELPER = `
import ast, contextlib, io, runpy, sys, traceback

def leafwise_run(source, namespace, name="<example>", arguments=()):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            if name.endswith(".py"):
                for part in [one for one in sys.modules if one in namespace["__files__"]]:
                    del sys.modules[part]
                sys.argv = [name, *arguments]
                runpy.run_path(name, run_name="__main__")
            else:
                for node in ast.parse(source, name).body:
                    code = compile(ast.Interactive([node]), name, "single")
                    exec(code, namespace)
        except SystemExit:
            pass
        except BaseException as error:
            told = traceback.TracebackException.from_exception(error)
            told.stack[:] = [
                frame
                for frame in told.stack[1:]
                if not frame.filename.startswith("<frozen runpy>")
            ]
            print("".join(told.format()), end="")
    return out.getvalue()
`;

  let starting;
  async function start(say) {
    say("Loading Python ...");
    const { loadPyodide } = await import(new URL("pyodide.mjs", new URL(setting("leafwise-pyodide"), root)).href);
    const pyodide = await loadPyodide();
    say("Loading leafwise ...");
    for (const name of setting("leafwise-wheels").split(" ")) {
      const answer = await fetch(new URL(`_static/pyodide/${name}`, root));
      if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
      pyodide.unpackArchive(await answer.arrayBuffer(), "wheel");
    }
    pyodide.runPython(HELPER);
    return pyodide;
  }

  // ---------------------------------------------------------------- blocks

  function code(pre) {
    const copy = pre.cloneNode(true);
    copy.querySelectorAll(".linenos").forEach((one) => one.remove());
    return copy.textContent.replace(/\n+$/, "\n");
  }

  function session(text) {
    return text
      .split("\n")
      .filter((line) => /^(>>>|\.\.\.)( |$)/.test(line))
      .map((line) => line.slice(4))
      .join("\n");
  }

  const files = {};
  const programs = {}; // by file name, the arguments with which the page runs it
  const found = [];
  for (const pre of document.querySelectorAll("article div.highlight > pre")) {
    const text = code(pre);
    const before = pre.closest("div.highlight").parentNode.previousElementSibling; // its name, if it is a file
    const caption = before?.matches("p:has(> strong:only-child > code)") ? before.textContent.trim() : undefined;
    if (caption && /^[\w.-]+\.\w+$/.test(caption)) files[caption] = text;
    for (const [, name, rest] of text.matchAll(/^\$ python (\w+\.py)(.*)$/gm)) {
      programs[name] ??= rest.split(/\s\d?[>|]/)[0].match(/\S+/g) ?? [];
    }
    found.push({ pre, text, caption });
  }

  function needs(text) { // the text with the files of the page that it imports
    const names = [...text.matchAll(/^(?:import|from) (\w+)/gm)].map(([, name]) => `${name}.py`);
    return [text, ...names.filter((name) => files[name] && files[name] !== text).map((name) => needs(files[name]))].join("\n");
  }

  const blocks = [];
  for (const { pre, text, caption } of found) {
    const prompts = /^>>> /m.test(text);
    const source = prompts ? session(text) : text;
    if ((prompts || caption in programs) && !NOT_HERE.test(needs(source))) {
      blocks.push({ pre, name: prompts ? "<example>" : caption, source });
    }
  }

  let namespace;
  const done = new Set();

  async function run(block, source, say) {
    starting ??= start(say);
    let pyodide;
    try {
      pyodide = await starting;
    } catch (error) {
      starting = undefined;
      throw error;
    }
    await pyodide.loadPackagesFromImports([...Object.values(files), source].join("\n"));
    if (Object.keys(files).some((name) => /\.ya?ml$/.test(name))) await pyodide.loadPackage("ruamel-yaml");
    const helper = pyodide.globals.get("leafwise_run");
    const modules = Object.keys(files).map((name) => name.replace(/\.py$/, ""));
    namespace ??= pyodide.toPy({ __name__: "__main__", __files__: modules });
    const write = (texts) => Object.entries(texts).forEach(([name, text]) => pyodide.FS.writeFile(name, text));
    const call = (one, text) => helper(text, namespace, one.name, programs[one.name] ?? []);
    if (!done.size) write(files);
    for (const other of blocks) {
      if (other === block) break;
      if ((other.name === "<example>") === (block.name === "<example>") && !done.has(other)) {
        say(`Running what is above: ${other.name} ...`);
        done.add(other);
        call(other, other.source);
      }
    }
    if (block.name !== "<example>") write({ [block.name]: source });
    done.add(block);
    say("Running ...");
    return call(block, source);
  }

  // ---------------------------------------------------------------- what is seen

  function open(block, button) {
    const edit = document.createElement("textarea");
    edit.value = block.source;
    edit.rows = block.source.split("\n").length;
    edit.spellcheck = false;
    edit.setAttribute("aria-label", "The example, to change and run");
    const output = document.createElement("pre");
    output.className = "run-output";
    output.setAttribute("aria-live", "polite");
    button.parentNode.before(edit);
    button.parentNode.after(output);
    edit.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.shiftKey)) {
        event.preventDefault();
        button.click();
      }
    });
    return { edit, output };
  }

  for (const block of blocks) {
    const bar = document.createElement("div");
    bar.className = "run-bar";
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Run";
    bar.append(button);
    block.pre.closest("div.highlight").parentNode.after(bar);
    let seen;
    button.addEventListener("click", async () => {
      seen ??= open(block, button);
      const { edit, output } = seen;
      const say = (text) => (output.textContent = text);
      button.disabled = true;
      output.classList.remove("run-failed");
      try {
        say((await run(block, edit.value, say)) || "(nothing is printed)\n");
        button.textContent = "Run again";
      } catch (error) {
        output.classList.add("run-failed");
        say(`Python could not be loaded: ${error.message ?? error}`);
      } finally {
        output.dataset.done = "";
        button.disabled = false;
      }
    });
  }
})();
