const SHOWN_LENGTH = 200

const IGNORED_BY_PARSERS = /[\t\n\r]/g
const USER_INFO = /^((?:[a-z][a-z0-9+.-]*:)?[\\/]{2,}|https?:[\\/]*)[^\\/?#]*@/i
/** Control characters, marks that change the writing direction, line separators, and halves of surrogate pairs. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/** A URL for a message or a log: one line, at most 200 characters, no password. */
export function showUrl(text: string): string {
  const plain = text
    .slice(0, 1024)
    .replace(IGNORED_BY_PARSERS, '')
    .trimStart()
    .replace(USER_INFO, '$1')
    .replace(UNPRINTABLE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
  return plain.length > SHOWN_LENGTH ? `${plain.slice(0, SHOWN_LENGTH - 1)}…` : plain
}
