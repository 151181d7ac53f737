/**
 * The exports of pi-natives that are not supported. They can be imported, but calling one fails with an error that
 * names an alternative: functions whose original returns a promise reject, the others throw.
 * @module
 */

/** The alternatives, each with the exports that it replaces. */
export const MISSING: Record<string, readonly string[]> = {
  "run ast-grep's own package, @ast-grep/napi": ["astEdit", "astGrep", "astMatch"],
  "use PhotonImage of @sinew/natives, whose toTerminal() writes SIXEL": ["decodeSixelToPng", "encodeSixel"],
  "convert the file with another program first": ["pdfToMarkdown", "rasterizeSvg", "renderMermaidAscii", "renderSnapcompactPng"],
  "start the program with spawn() and exit with its exit code": ["execReplace"],
  "use VcsGitRepo: workspaces of Jujutsu are not supported": ["VcsJjWorkspace"],
  "remove the override of @oh-my-pi/pi-natives if you need this part": [
    "AudioCapture", "AudioPlayback", "LiveWebRtcPeer", "SearchDb", "projfsOverlayProbe", "projfsOverlayStart", "projfsOverlayStop",
    ...["listDisplays", "listWindows", "capture", "click", "moveMouse", "drag", "scroll", "typeText", "keyChord", "raiseWindow", "axSnapshot", "axQuery", "axElementAt", "axFocused", "axNode"].map((name) => `DesktopSession.${name}`),
    ...["axAttributes", "axChildren", "axParent", "axPerform", "axSetValue", "axFocus", "axClick"].map((name) => `DesktopSession.${name}`),
  ],
};

/** Returns the error of an unsupported export. */
export function refusal(name: string): Error {
  const way = Object.entries(MISSING).find(([, names]) => names.includes(name))?.[0];
  return Object.assign(new Error(`${name} is not part of @sinew/pi-natives; ${way}`), { code: "ERR_METHOD_NOT_IMPLEMENTED" });
}

/** Creates a stand-in that throws, for calls and for `new`. */
function throwing(name: string): any {
  return function (): never {
    throw refusal(name);
  };
}

/** Creates a stand-in that rejects. */
function rejecting(name: string): (...args: unknown[]) => Promise<never> {
  return async () => {
    throw refusal(name);
  };
}

export const AudioCapture = throwing("AudioCapture");
export const AudioPlayback = throwing("AudioPlayback");
export const LiveWebRtcPeer = throwing("LiveWebRtcPeer");
export const SearchDb = throwing("SearchDb");
export const VcsJjWorkspace = throwing("VcsJjWorkspace");
export const astEdit = rejecting("astEdit");
export const astGrep = rejecting("astGrep");
export const astMatch = rejecting("astMatch");
export const decodeSixelToPng = throwing("decodeSixelToPng");
export const encodeSixel = throwing("encodeSixel");
export const execReplace = throwing("execReplace");
export const pdfToMarkdown = rejecting("pdfToMarkdown");
export const projfsOverlayProbe = throwing("projfsOverlayProbe");
export const projfsOverlayStart = throwing("projfsOverlayStart");
export const projfsOverlayStop = throwing("projfsOverlayStop");
export const rasterizeSvg = rejecting("rasterizeSvg");
export const renderMermaidAscii = throwing("renderMermaidAscii");
export const renderSnapcompactPng = rejecting("renderSnapcompactPng");

/** Returns an empty string, because there is no font and no character can be drawn. */
export function snapcompactSupportedChars(_font: string, _chars: string): string {
  return "";
}
