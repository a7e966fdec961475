/** The bundle is loaded as VS Code loads it, with a stand-in for the module that only VS Code has. */

const assert = require("node:assert");
const { createRequire } = require("node:module");
const Module = require("node:module");
const path = require("node:path");
const test = require("node:test");

/** Whatever is taken from it is a class, and a namespace of such. */
const anything = new Proxy(class {}, {
  get: (target, name) => (name in target || typeof name === "symbol" ? target[name] : anything),
});
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? anything : load(name, ...rest));
const extension = createRequire(__filename)(path.join("..", "dist", "extension.js"));

test("it can be started and stopped", () => {
  assert.equal(typeof extension.activate, "function");
  assert.equal(typeof extension.deactivate, "function");
});

test("the command may name the workspace and the user's home", () => {
  const words = ["${workspaceFolder}/.venv/bin/recompute-lint", "~/bin/x", "a~b", "${workspaceFolder}${workspaceFolder}"];
  assert.deepEqual(extension.expand(words, "/work", "/home/me"), [
    "/work/.venv/bin/recompute-lint",
    "/home/me/bin/x",
    "a~b",
    "/work/work",
  ]);
  assert.deepEqual(extension.expand(["${workspaceFolder}/x"], undefined, ""), ["/x"]);
});
