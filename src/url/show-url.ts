const SHOWN_LENGTH = 200
/** What is read of a text: an href may have megabytes, and its user info may be longer than what is shown. */
const READ_LENGTH = 64 * 1024

const IGNORED_BY_PARSERS = /[\t\n\r]/g
/** Control characters, marks that change the writing direction, line separators, and halves of surrogate pairs. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
/** Where the authority of a URL begins. Parsers take backslashes for slashes, and http and https need none. */
const BEFORE_AUTHORITY = /https?:[\\/]*|[\\/]{2,}/gi
const AFTER_AUTHORITY = /[\\/?#]/g
/** In the middle of a text a URL ends here as well. */
const AFTER_EMBEDDED = /[\\/?#\s"'<>]/g
/** `user:password@host`, as people write it. An address of mail is no secret. */
const NO_SCHEME = /^(?!mailto:)[^\s\\/?#@:]{1,200}:[^\s\\/?#@]{1,1000}@/i

/** A URL, or a text that contains some, for a message or a log: one line, at most 200 characters, no password. */
export function showUrl(text: string): string {
  const plain = withoutUserInfo(trimmed(text.slice(0, READ_LENGTH).replace(IGNORED_BY_PARSERS, '')))
    .slice(0, 2 * SHOWN_LENGTH)
    .replace(UNPRINTABLE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
  return plain.length > SHOWN_LENGTH ? `${plain.slice(0, SHOWN_LENGTH - 1)}…` : plain
}

/** The text with every URL in it, also one without a scheme, as it is without user name and password. */
export function withoutUserInfo(text: string): string {
  if (!text.includes('@')) return text
  let shown = ''
  let from = 0
  // An authority is searched once, however many slashes and schemes it contains.
  let searched = 0
  for (const { 0: before, index } of text.matchAll(BEFORE_AUTHORITY)) {
    const start = index + before.length
    if (start < searched) continue
    const end = next(index === 0 || isScheme(text.slice(0, index)) ? AFTER_AUTHORITY : AFTER_EMBEDDED, text, start)
    searched = end
    const at = text.slice(start, end).lastIndexOf('@')
    if (at === -1) continue
    shown += text.slice(from, start)
    from = start + at + 1
  }
  return (shown + text.slice(from)).replace(NO_SCHEME, '')
}

/** `ftp:` before the slashes: the whole text is one URL. */
function isScheme(text: string): boolean {
  return text.length <= 32 && /^[a-z][a-z0-9+.-]*:$/i.test(text)
}

function next(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from
  return pattern.exec(text)?.index ?? text.length
}

/** As parsers do: control characters too. */
function trimmed(text: string): string {
  let start = 0
  while (start < text.length && text.charCodeAt(start) <= 0x20) start++
  return text.slice(start)
}
