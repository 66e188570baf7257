/**
 * Documents, and what Chromium makes of them: `document.characterSet` and `document.contentType`. `like-chromium.test.ts` opens every one of them in
 * Chromium, so that this table cannot be wrong; `charset.test.ts` and `media-type.test.ts` hold Shoal to it.
 */
export interface DocumentCase {
  readonly name: string
  /** One Content-Type header or several; null: none. */
  readonly header: string | readonly string[] | null
  readonly body: string | Uint8Array
  readonly nosniff?: true
  readonly encoding: string
  readonly type: string
  /** Where Shoal differs on purpose, and why. */
  readonly shoal?: { readonly encoding?: string; readonly type?: string; readonly because: string }
}

const HTML = 'text/html'
const PLAIN = 'text/plain'
const CYRILLIC = 'windows-1251'
const LATIN = 'windows-1252'
const META = '<meta charset=windows-1251>'
const comment = (length: number) => `<!--${'x'.repeat(length)}-->`
const bytes = (...parts: readonly (string | readonly number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))))

/** HTML without a charset in its header. */
function page(name: string, body: string | Uint8Array, encoding: string, shoal?: DocumentCase['shoal']): DocumentCase {
  return { name, header: HTML, body, encoding, type: HTML, ...(shoal !== undefined && { shoal }) }
}

const META_POSITIONS = [
  page('meta at the start', `<head>${META}`, CYRILLIC),
  page('meta after 1,100 bytes', `<head>${comment(1100)}${META}<p>`, CYRILLIC),
  page('meta after 5,000 bytes', `<head>${comment(5000)}${META}<p>`, CYRILLIC),
  page('meta after 350 KB of scripts', `<head>${'<script>var a=1;</script>'.repeat(14_000)}${META}<p>`, CYRILLIC),
  page('meta after a long title', `<html><head><title>${'x'.repeat(1100)}</title>${META}`, CYRILLIC),
  page('meta after long text without a tag', `hello ${'x'.repeat(1100)}${META}`, CYRILLIC),
  page('meta early in the body', `<body><p>x${META}`, CYRILLIC),
  page('meta late in the body', `<body><p>${'x'.repeat(1100)}${META}`, LATIN),
  page('meta late after the head', `<head></head>${comment(1100)}${META}`, LATIN),
  page('meta late after an unknown element', `<html><head><foo>${comment(1100)}${META}`, LATIN),
  page('meta late after an end tag of body', `</body>${comment(1100)}${META}`, LATIN),
]

const META_PLACES = [
  page('meta in a comment', `<head><!-- ${META} --><p>`, LATIN),
  page('meta after a comment that its own dashes close', `<head><!-->${META}<p>`, CYRILLIC),
  page('meta in a comment that does not end', `<head><!-- ${META}<p>`, LATIN),
  page('meta in a script', `<head><script>"${META}"</script><p>`, LATIN),
  page('meta in a script with a longer end tag', `<head><script></scripts>${META}</script><p>`, LATIN),
  page('meta in a style', `<head><STYLE>${META}</style><p>`, LATIN),
  page('meta in a title', `<head><title>${META}</title><p>`, LATIN),
  page('meta in a textarea', `<textarea>${META}</textarea><p>`, LATIN),
  page('meta in a noscript', `<noscript>${META}</noscript><p>`, CYRILLIC),
  page('meta in an iframe', `<iframe>${META}</iframe><p>`, LATIN),
  page('meta in xmp', `<xmp>${META}</xmp><p>`, LATIN),
  page('meta in plaintext', `<plaintext>${META}`, LATIN),
  page('meta in an attribute', `<head><link title="${META}"><p>`, LATIN),
  page('meta in an attribute without quotes', `<head><link title=<meta charset=windows-1251 x><p>`, LATIN),
  page('meta in CDATA', `<![CDATA[${META}]]><p>`, LATIN),
  page('meta in a processing instruction', `<?php ${META} ?><p>`, LATIN),
  page('meta in a template', `<template>${META}</template><p>`, CYRILLIC),
]

const PRAGMA = '<meta http-equiv="Content-Type" content='
const META_FORMS = [
  page('http-equiv', `${PRAGMA}"text/html; charset=windows-1251">`, CYRILLIC),
  page('http-equiv last', '<meta content="text/html; charset=windows-1251" http-equiv=content-type>', CYRILLIC),
  page('content alone', '<meta content="text/html; charset=windows-1251">', LATIN),
  page('another http-equiv', '<meta http-equiv=refresh content="9; charset=windows-1251">', LATIN),
  page('http-equiv with quotes', `${PRAGMA}"text/html; charset='windows-1251'">`, CYRILLIC),
  page('http-equiv with more', `${PRAGMA}"text/html; charset=windows-1251; x">`, CYRILLIC),
  page('http-equiv with a comma', `${PRAGMA}"text/html; charset=windows-1251,x">`, LATIN),
  page('http-equiv with spaces', `${PRAGMA}"text/html; charset = windows-1251">`, CYRILLIC),
  page('http-equiv with an open quote', `${PRAGMA}"text/html; charset='windows-1251">`, LATIN),
  page('http-equiv with two', `${PRAGMA}"charset charset=windows-1251">`, CYRILLIC),
  page('http-equiv that ends at the word', `${PRAGMA}"charset"><p>`, LATIN),
  page('http-equiv that ends at the sign', `${PRAGMA}"charset="><p>`, LATIN),
  page('unknown, then known', `<meta charset=klingon>${META}`, CYRILLIC),
  page('two', `${META}<meta charset=koi8-r>`, CYRILLIC),
  page('both forms', `${PRAGMA}"charset=windows-1251" charset=koi8-r>`, 'KOI8-R'),
  page('both forms, the short one unknown', `${PRAGMA}"charset=windows-1251" charset=klingon>`, LATIN),
  page('the attribute twice', '<meta charset=koi8-r charset=windows-1251>', CYRILLIC, {
    encoding: 'KOI8-R',
    because: 'the HTML standard, and the tree, take the first of two attributes',
  }),
  page('a slash for a space', '<meta/charset=windows-1251>', CYRILLIC),
  page('upper case', '<META CHARSET=WINDOWS-1251>', CYRILLIC),
  page('spaces around the label', '<meta charset=" windows-1251 ">', CYRILLIC),
  page('spaces around the sign', '<meta charset\n=\n"windows-1251">', CYRILLIC),
  page('an entity in the label', '<meta charset="windows&#45;1251">', CYRILLIC),
  page('a tag that does not end', '<meta charset=windows-1251 ', LATIN),
  page('another name', '<metax charset=windows-1251>', LATIN),
  page('an end tag', '</meta charset=windows-1251>', LATIN),
  page('UTF-16 by meta', '<meta charset=utf-16><p>', 'UTF-8'),
  page('UTF-16LE by meta', '<meta charset=utf-16le><p>', 'UTF-8'),
  page('x-user-defined by meta', '<meta charset=x-user-defined><p>', LATIN),
  page('replacement by meta', '<meta charset=iso-2022-kr><p>', 'replacement'),
]

const XML_DECLARATIONS = [
  page('XML declaration', '<?xml version="1.0" encoding="windows-1251"?><p>', CYRILLIC),
  page('XML declaration and meta', `<?xml version="1.0" encoding="koi8-r"?>${META}<p>`, CYRILLIC),
  page('XML declaration after a space', ' <?xml version="1.0" encoding="windows-1251"?><p>', LATIN),
  page('XML declaration with UTF-16', '<?xml version="1.0" encoding="utf-16"?><p>', 'UTF-8'),
  page('XML declaration, unknown', '<?xml version="1.0" encoding="klingon"?><p>', LATIN),
  page('XML declaration, single quotes', "<?xml version='1.0' encoding='windows-1251'?><p>", CYRILLIC),
  page('XML declaration, no quotes', "<?xml version='1.0' encoding=windows-1251 ?><p>", LATIN),
  page('XML declaration, spaces', `<?xml version='1.0' encoding = "windows-1251" ?><p>`, CYRILLIC),
  page('XML declaration, x-user-defined', `<?xml version='1.0' encoding="x-user-defined" ?><p>`, 'x-user-defined'),
  page('XML declaration in UTF-16', Buffer.from('<?xml version="1.0"?><p>', 'utf16le'), 'UTF-16LE'),
  {
    name: 'XHTML, declared',
    header: 'application/xhtml+xml',
    body: '<?xml version="1.0" encoding="windows-1251"?><html xmlns="http://www.w3.org/1999/xhtml"></html>',
    encoding: CYRILLIC,
    type: 'application/xhtml+xml',
  },
  {
    name: 'XHTML, meta',
    header: 'application/xhtml+xml',
    body: '<html xmlns="http://www.w3.org/1999/xhtml"><head><meta charset="windows-1251"/></head></html>',
    encoding: 'UTF-8',
    type: 'application/xhtml+xml',
  },
]

/** The body names another encoding than the header. */
function headed(name: string, header: string | readonly string[], encoding: string, type = HTML): DocumentCase {
  return { name, header, body: META, encoding, type }
}

const HEADERS = [
  { ...headed('BOM before header', 'text/html; charset=koi8-r', 'UTF-8'), body: bytes([0xef, 0xbb, 0xbf], META) },
  { ...headed('BOM of UTF-16', 'text/html; charset=koi8-r', 'UTF-16LE'), body: bytes([0xff, 0xfe], 'a\0') },
  headed('header before meta', 'text/html; charset=koi8-r', 'KOI8-R'),
  headed('x-user-defined by header', 'text/html; charset=x-user-defined', 'x-user-defined'),
  headed('unknown by header', 'text/html; charset=klingon', CYRILLIC),
  headed('replacement by header', 'text/html; charset=iso-2022-kr', 'replacement'),
  headed('single quotes', "text/html; charset='koi8-r'", CYRILLIC),
  headed('double quotes', 'text/html; charset="koi8-r"', 'KOI8-R'),
  headed('an open quote', 'text/html; charset="koi8-r', 'KOI8-R'),
  headed('spaces around the sign', 'text/html; charset = koi8-r', CYRILLIC),
  headed('the parameter twice', 'text/html; charset=koi8-r; charset=ibm866', 'KOI8-R'),
  headed('no semicolon', 'text/html charset=koi8-r', CYRILLIC),
  headed('two values', 'text/html, text/html; charset=koi8-r', 'KOI8-R'),
  headed('two values, the second without', 'text/html; charset=koi8-r, text/html', 'KOI8-R'),
  headed('two values of different types', 'text/html; charset=koi8-r, text/plain', LATIN, PLAIN),
  headed('two values of different types, HTML last', 'text/plain; charset=koi8-r, text/html', CYRILLIC),
  headed('two values, the second garbage', 'text/html; charset=koi8-r, garbage', 'KOI8-R'),
  headed('two headers', ['text/html; charset=koi8-r', 'text/html'], 'KOI8-R'),
  headed('two headers of different types', ['text/html; charset=koi8-r', 'text/plain'], LATIN, PLAIN),
]

const MARKUP = `<html>${META}`

function sniffed(
  name: string,
  header: string | null,
  body: string | Uint8Array,
  type: string,
  encoding: string,
  shoal?: DocumentCase['shoal'],
): DocumentCase {
  return { name, header, body, encoding, type, ...(shoal !== undefined && { shoal }) }
}

const SNIFFED = [
  sniffed('an empty header', '', MARKUP, HTML, CYRILLIC),
  sniffed('a word', 'garbage', MARKUP, HTML, CYRILLIC),
  sniffed('*/*', '*/*', MARKUP, HTML, CYRILLIC),
  sniffed('application/unknown', 'application/unknown', MARKUP, HTML, CYRILLIC),
  sniffed('unknown/unknown', 'unknown/unknown', MARKUP, HTML, CYRILLIC),
  sniffed('a charset alone', 'charset=koi8-r', MARKUP, HTML, CYRILLIC),
  sniffed('a charset alone, after a semicolon', '; charset=koi8-r', MARKUP, HTML, CYRILLIC),
  sniffed('no header', null, MARKUP, HTML, CYRILLIC),
  sniffed('no header, a doctype', null, `\n \t<!DOCTYPE html>${META}`, HTML, CYRILLIC),
  sniffed('no header, a comment', null, `<!-- x --><p>${META}`, HTML, CYRILLIC),
  sniffed('no header, an anchor', null, '<a href=x>', HTML, LATIN),
  sniffed('no header, a list', null, `<ul>${META}`, PLAIN, LATIN),
  sniffed('no header, HTML later', null, 'xxxxxxxxxx<html>', PLAIN, LATIN),
  sniffed('no header, XML', null, '<?xml version="1.0" encoding="windows-1251"?><a/>', 'text/xml', CYRILLIC),
  sniffed('no header, text', null, 'hello', PLAIN, LATIN),
  sniffed('no header, HTML after a BOM', null, bytes([0xef, 0xbb, 0xbf], '<html>x'), PLAIN, 'UTF-8'),
  sniffed('no header, UTF-16', null, bytes([0xff, 0xfe], '<\0h\0'), PLAIN, 'UTF-16LE'),
  sniffed('HTML as text', 'text/plain', MARKUP, PLAIN, LATIN),
  sniffed('Latin text', 'text/plain', bytes([0xe9, 0x20, 0x61]), PLAIN, LATIN),
  sniffed('a feed as HTML', 'text/html', '<?xml version="1.0"?><rss version="2.0"></rss>', HTML, LATIN),
  { ...sniffed('no header, nosniff', null, MARKUP, PLAIN, LATIN), nosniff: true },
  sniffed('UTF-8 that nobody declares', 'text/html', '<p>Grüße aus München, schöne Straße', HTML, LATIN, {
    encoding: 'UTF-8',
    because: 'the text would be wrong: Chromium never guesses UTF-8, so that authors declare it',
  }),
  sniffed(
    'Cyrillic that nobody declares',
    'text/html',
    bytes('<p>', [0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2, 0x20, 0xec, 0xe8, 0xf0]),
    HTML,
    CYRILLIC,
    {
      encoding: LATIN,
      because:
        'Chromium guesses the language from the letters; other browsers guess differently, and a wrong guess is silent',
    },
  ),
] satisfies readonly DocumentCase[]

export const DOCUMENT_CASES: readonly DocumentCase[] = [
  ...META_POSITIONS,
  ...META_PLACES,
  ...META_FORMS,
  ...XML_DECLARATIONS,
  ...HEADERS,
  ...(SNIFFED as readonly DocumentCase[]),
]

/** Its headers as the fetcher hands them over. */
export function headersOf({ header, nosniff }: DocumentCase): Record<string, string> {
  return {
    ...(header !== null && { 'content-type': [header].flat().join(', ') }),
    ...(nosniff && { 'x-content-type-options': 'nosniff' }),
  }
}

export function bodyOf({ body }: DocumentCase): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body
}
