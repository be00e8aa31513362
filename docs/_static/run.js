// Examples that run in the page: a button at each code block, CPython as WebAssembly behind it.
//
// Nothing is loaded before the first click. Without scripts the page is as it was. A block with
// prompts runs after those above it, as in a session; a program with a file name runs with the
// other files of the page beside it.
(() => {
  const setting = (name) => document.querySelector(`meta[name="${name}"]`)?.content;
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
  const NOT_HERE =
    /^\s*(?:import|from)\s+(?:jax|torch|optree|tree|flax|equinox|optax|dask|distributed|multiprocessing|concurrent|threading|subprocess|tqdm|rich|hydra|omegaconf|pydantic)\b/m;

  const HELPER = `
import ast, contextlib, io, runpy, sys, traceback

def leafwise_run(source, namespace, name="<example>"):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            if name.endswith(".py"):
                for part in [one for one in sys.modules if one in namespace["__files__"]]:
                    del sys.modules[part]
                sys.argv = [name]
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
  const blocks = [];
  for (const pre of document.querySelectorAll("article div.highlight > pre")) {
    const text = code(pre);
    const caption = pre.closest(".literal-block-wrapper")?.querySelector(".caption-text")?.textContent.trim();
    if (caption && /^[\w.-]+\.\w+$/.test(caption)) files[caption] = text;
    const prompts = /^>>> /m.test(text);
    const program = caption?.endsWith(".py") && /^(?!def |class |import |from |#|@|\s|$)/m.test(text);
    if ((prompts || program) && !NOT_HERE.test(prompts ? session(text) : text)) {
      blocks.push({ pre, name: program && !prompts ? caption : "<example>", source: prompts ? session(text) : text });
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
    const all = [...Object.values(files), source].join("\n");
    await pyodide.loadPackagesFromImports(all);
    if (/yaml/i.test(all)) await pyodide.loadPackage("pyyaml");
    const helper = pyodide.globals.get("leafwise_run");
    namespace ??= pyodide.toPy({ __name__: "__main__", __files__: Object.keys(files).map((one) => one.replace(/\.py$/, "")) });
    if (block.name !== "<example>") {
      for (const [name, text] of Object.entries({ ...files, [block.name]: source })) pyodide.FS.writeFile(name, text);
    } else {
      for (const other of blocks) {
        if (other === block) break;
        if (other.name === "<example>" && !done.has(other)) {
          helper(other.source, namespace);
          done.add(other);
        }
      }
    }
    done.add(block);
    say("Running ...");
    return helper(source, namespace, block.name);
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
    (block.pre.closest(".literal-block-wrapper") ?? block.pre.closest("div.highlight").parentNode).after(bar);
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
