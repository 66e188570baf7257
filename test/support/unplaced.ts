/** The message of an error of a spider that a test file defines, without the place in that file. */
export function unplaced(message: string | undefined): string | undefined {
  return message?.replace(/^test\/[^\s:]+:\d+:\d+: /, '')
}
