/**
 * What a terminal obeys or does not show: DEL, the C1 controls (U+009B alone starts an escape sequence), marks that change the writing direction,
 * everything of zero width, line separators. JSON.stringify escapes the C0 controls itself.
 */
const UNSEEN = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu

/** JSON that shows every character it contains: the same value for a parser, and safe to print. */
export function jsonText(value: unknown, indent?: number): string {
  return (JSON.stringify(value, null, indent) ?? '').replace(UNSEEN, escaped)
}

function escaped(character: string): string {
  let text = ''
  for (let i = 0; i < character.length; i++) text += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`
  return text
}
