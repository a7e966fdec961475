// Loads Pyodide and the linter from beside this file, and lints what is typed once there is a pause.
const here = new URL(".", import.meta.url);
const [text, name, mcore, report, fix] = ["text", "name", "mcore", "report", "fix"].map((id) => document.getElementById(id));

async function load() {
  const { loadPyodide } = await import(new URL("pyodide/pyodide.mjs", here));
  const python = await loadPyodide({ indexURL: new URL("pyodide/", here).href });
  const bundle = await fetch(new URL("bundle.zip", here));
  if (!bundle.ok) throw new Error(`bundle.zip: ${bundle.status}`);
  python.unpackArchive(await bundle.arrayBuffer(), "zip", { extractDir: "/bundle" });
  return python.runPython("import sys; sys.path.insert(0, '/bundle'); import playground_lint; playground_lint");
}

try {
  const linter = await load();
  const file = () => [text.value, name.value || "recipe.yaml", mcore.value];
  const attempt = (action) => {
    try {
      action();
    } catch (error) {
      report.textContent = `The linter failed: ${error.message}`;
    }
  };
  const lint = () =>
    attempt(() => {
      report.textContent = linter.lint(...file());
    });
  let waiting;
  for (const field of [text, name, mcore]) {
    field.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(lint, 150);
    });
  }
  fix.addEventListener("click", () =>
    attempt(() => {
      text.value = linter.fix(...file());
      report.textContent = linter.lint(...file());
    }),
  );
  fix.disabled = false;
  lint();
} catch (error) {
  report.textContent = `The linter could not be loaded: ${error.message}`;
}
