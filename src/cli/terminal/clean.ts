/**
 * Control characters, and what a terminal does not show or what changes the direction of text. U+200C and U+200D stay: Persian and Hindi words and many
 * emoji need them, and they hide nothing.
 */
const UNSAFE = /(?:(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}])+/gu
/** The same one by one, or with what makes it a colour code. */
const UNSAFE_OR_COLOUR = /\p{Cc}\[[0-9;]{0,20}m|(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
const ESCAPE = '\x1b'

/** Text from the web (URLs, titles, error messages), safe for one line of a terminal: it must not move the cursor or hide anything. */
export function clean(text: string): string {
  return text.replace(UNSAFE, ' ')
}

/**
 * The last line of defence for everything that is printed, whoever forgot to clean a value: only line breaks, tabs and colours reach the terminal. Colours
 * are our own; a code from the web colours some text, no more.
 */
export function cleanLayout(text: string): string {
  return text.replace(UNSAFE_OR_COLOUR, (found) => {
    const isCode = found.endsWith('m')
    if (found.startsWith('\n') || found.startsWith('\t') || (isCode && found.startsWith(ESCAPE))) return found
    return isCode ? ` ${found.slice(1)}` : ' '
  })
}
