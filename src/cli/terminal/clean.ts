/** As a class of characters: control characters, and those that a terminal does not show or that change the direction of text. */
const CONTROLS = String.raw`\p{Cc}`
const UNSEEN = String.raw`\p{Zl}\p{Zp}\p{Cf}`
/** U+200C and U+200D: Persian and Hindi words and many emoji need them, and they hide nothing. */
const JOINERS = String.raw`\u200c\u200d`

const UNSAFE = new RegExp(`[[${CONTROLS}${UNSEEN}]--[${JOINERS}]]+`, 'gv')
/** Line breaks and tabs are layout, and colours are our own; a colour code from the web that was not cleaned colours text, no more. */
const UNSAFE_IN_LAYOUT = new RegExp(
  String.raw`(\u001b\[[0-9;]{0,20}m)|[[${CONTROLS}${UNSEEN}]--[\n\t${JOINERS}]]`,
  'gv',
)

/** Text from the web (URLs, titles, error messages), safe for one line of a terminal: it must not move the cursor or hide anything. */
export function clean(text: string): string {
  return text.replace(UNSAFE, ' ')
}

/** The last line of defence for everything that is printed: only colours and line breaks reach the terminal, whoever forgot to clean a value. */
export function cleanLayout(text: string): string {
  return text.replace(UNSAFE_IN_LAYOUT, (_character, colour: string | undefined) => colour ?? ' ')
}
