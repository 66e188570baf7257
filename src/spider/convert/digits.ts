/** Digits of every script, and the separators that are written with them, as ASCII: '１，２３４' → '1,234', '٣٫٥' → '3٫5'. */
export function asciiDigits(text: string): string {
  if (!/[^\0-\x7f]/.test(text)) return text
  return text.replace(/[\p{Nd}，．：／]/gu, (character) => SEPARATORS.get(character) ?? digitOf(character))
}

const SEPARATORS = new Map([
  ['，', ','],
  ['．', '.'],
  ['：', ':'],
  ['／', '/'],
])

/** Digits of a script follow one another from zero to nine, and so do the five sets of mathematical ones. */
function digitOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  let zero = code
  while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--
  return String((code - zero) % 10)
}

export function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= '0' && character <= '9'
}
