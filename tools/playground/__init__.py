"""The page that lints what is pasted into it, in the browser: CPython for WebAssembly (Pyodide) and this package."""
