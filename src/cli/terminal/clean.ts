/** C0 and C1 control characters, and the marks that change the direction of text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g

/** Text from the web (URLs, titles, error messages), safe for one line of a terminal: it must not move the cursor or hide anything. */
export function clean(text: string): string {
  return text.replace(UNSAFE, ' ')
}
