import fc from 'fast-check'
import { parseUrl } from '../../src/url/parse-url.js'

const host = fc.constantFrom(
  'example.com',
  'EXAMPLE.com',
  'a.example.com',
  'example.com.',
  'bücher.example',
  '127.1',
  '[::1]',
)
const port = fc.constantFrom('', ':80', ':443', ':8080')
const unit = fc.constantFrom(
  ...'abAB01.~-_/%&=?;+ :@é<|'.split(''),
  '%7E',
  '%2f',
  '%2E',
  '%c3%A9',
  '%25',
  '..',
  '%2e',
  ';jsessionid=1',
)
const path = fc.string({ unit, maxLength: 12 }).map((text) => text.replaceAll('?', ''))
const param = fc.oneof(
  fc.constantFrom(
    'utm_source=x',
    'gclid=1',
    'PHPSESSID=%41',
    'sid=9e107d9d372bb6826bd81d3542a419d6',
    'a',
    '',
    'b=',
    '=c',
    'utm%5Fa=%',
  ),
  fc.string({ unit, maxLength: 6 }),
)

/** URLs as pages hold them. */
export const webUrl = fc
  .record({
    scheme: fc.constantFrom('http', 'https', 'HTTPS'),
    user: fc.constantFrom('', '', 'joe@', 'joe:pw@'),
    host,
    port,
    path,
    params: fc.array(param, { maxLength: 5 }),
    fragment: fc.constantFrom('', '', '#top', '#?a=b'),
  })
  .map(({ scheme, user, host, port, path, params, fragment }) => {
    const query = params.length === 0 ? '' : `?${params.join('&')}`
    return `${scheme}://${user}${host}${port}/${path}${query}${fragment}`
  })
  .filter((text) => parseUrl(text) !== null)

const spite = fc.constantFrom(
  ...[
    'http:',
    'https:',
    'HTTP:',
    '//',
    '/',
    '\\',
    '..',
    '../',
    './',
    '?',
    '#',
    '@',
    ':',
    ':0',
    ':65536',
    '%',
    '%2e',
    '%41',
    '4',
    '1',
  ],
  ...[
    '\t',
    '\n',
    '\0',
    ' ',
    '\ud800',
    '\u200f',
    '.',
    'a',
    'b',
    '&',
    '=',
    ';',
    'example.com',
    'é',
    'mailto:',
    'javascript:',
    '//other.example',
    'x',
  ],
)

/** Whatever an href may hold. */
export const hostileUrl = fc.array(spite, { maxLength: 12 }).map((parts) => parts.join(''))
