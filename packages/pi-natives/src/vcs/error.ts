/**
 * Errors of version control.
 * @module
 */

/** The causes of a {@link VcsError}. */
export type VcsErrorCode =
  | "NotARepository" | "RefNotFound" | "ObjectNotFound" | "EmptyCherryPick" | "Conflict" | "PatchFailed" | "Cli" | "CliTimeout" | "Io" | "Backend"
  | "Canceled" | "Unsupported" | "OutputTooLarge";

/**
 * A failed operation on a repository, with git's exit code and output. If git was not run, `exitCode` is 1 and `stderr`
 * the message.
 */
export interface VcsError extends Error {
  name: "VcsError";
  code: VcsErrorCode;
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** The exit code and output of git. */
interface Report {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** Creates a {@link VcsError}. */
export function vcsError(code: VcsErrorCode, message: string, report: Report = { exitCode: 1, stdout: "", stderr: message }): VcsError {
  return Object.assign(new Error(message), { name: "VcsError" as const, code, ...report });
}

/** Returns whether an error is a {@link VcsError}. */
export function isVcsError(error: unknown): error is VcsError {
  return error instanceof Error && error.name === "VcsError";
}

/** Returns whether a cherry-pick failed because the change is already applied. */
export function isEmptyCherryPick(error: unknown): error is VcsError & { code: "EmptyCherryPick" } {
  return isVcsError(error) && error.code === "EmptyCherryPick";
}
