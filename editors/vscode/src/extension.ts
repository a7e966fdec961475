/** Starts `recompute-lint server` and connects the editor to it. Everything else is the server's. */

import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

const NAME = "recompute-lint";

/** What recompute-lint reads; the same kinds of file as its pre-commit hook. */
const LANGUAGES = ["yaml", "python", "shellscript", "makefile"];

/** Files that decide about findings in others: configuration, pins, and parents that are not open. */
const WATCHED = "**/{*.yaml,*.yml,pyproject.toml,recompute-lint.toml,uv.lock,poetry.lock,requirements*.txt,config.json}";

let client: LanguageClient | undefined;

/**
 * The words of the command, with `${workspaceFolder}` and `~` filled in.
 *
 * @param words the setting `recompute-lint.command`.
 * @param folder the first folder of the workspace; undefined where no folder is open.
 * @param home the user's home folder.
 */
export function expand(words: string[], folder: string | undefined, home: string): string[] {
  return words.map((word) =>
    word
      .replace(/\$\{workspaceFolder\}/g, folder ?? "")
      .replace(/^~(?=[\\/]|$)/, home),
  );
}

async function start(): Promise<void> {
  const words = vscode.workspace.getConfiguration(NAME).get<string[]>("command", [NAME]);
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const [command, ...rest] = expand(words, folder, process.env.HOME ?? process.env.USERPROFILE ?? "");
  const server: ServerOptions = { command, args: [...rest, "server"], options: { cwd: folder } };
  const options: LanguageClientOptions = {
    documentSelector: ["file", "untitled"].flatMap((scheme) => LANGUAGES.map((language) => ({ scheme, language }))),
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher(WATCHED) },
  };
  client = new LanguageClient(NAME, NAME, server, options);
  try {
    await client.start();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const choice = await vscode.window.showErrorMessage(
      `recompute-lint does not start: ${reason}. Install it with its language server (extra "lsp"), or set ` +
        `"recompute-lint.command".`,
      "Open settings",
    );
    if (choice !== undefined) {
      await vscode.commands.executeCommand("workbench.action.openSettings", `${NAME}.command`);
    }
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  if (running?.needsStop()) {
    await running.stop();
  }
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand(`${NAME}.restart`, async () => {
      await stop();
      await start();
    }),
    vscode.commands.registerCommand(`${NAME}.showOutput`, () => client?.outputChannel.show()),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration(`${NAME}.command`)) {
        await stop();
        await start();
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await stop();
}
