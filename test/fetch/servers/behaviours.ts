import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'

/** What a server writes after a request. The first half of this file is what it writes, the second what becomes of it. */
interface Behaviour {
  readonly name: string
  readonly says: Buffer
  /** What it does after it wrote; 'stay' keeps the connection open. */
  readonly next: 'stay' | 'close' | 'reset'
}

export const TEXT = 'hello, world'
const GZIP = gzipSync(TEXT)
const BROTLI = brotliCompressSync(TEXT)
const LENGTH = `Content-Length: ${TEXT.length}\r\n`
const TYPE = 'Content-Type: text/plain\r\n'

type Part = string | Buffer
const bytesOf = (parts: readonly Part[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)))
const stays = (name: string, ...parts: Part[]): Behaviour => ({ name, says: bytesOf(parts), next: 'stay' })
const closes = (name: string, ...parts: Part[]): Behaviour => ({ name, says: bytesOf(parts), next: 'close' })
const ok = (headers: string) => `HTTP/1.1 200 OK\r\n${TYPE}${headers}\r\n`
const chunked = (...chunks: Part[]): Part[] => [ok('Transfer-Encoding: chunked\r\n'), ...chunks]
const encoded = (name: string, encoding: string, body: Part) =>
  stays(name, ok(`Content-Encoding: ${encoding}\r\nContent-Length: ${body.length}\r\n`), body)

export const BEHAVIOURS: readonly Behaviour[] = [
  // content encodings
  encoded('Content-Encoding: none', 'none', TEXT),
  encoded('Content-Encoding: identity', 'identity', TEXT),
  encoded('Content-Encoding: utf-8', 'utf-8', TEXT),
  encoded('Content-Encoding: empty', '', TEXT),
  encoded('Content-Encoding: unknown token', 'snappy', TEXT),
  encoded('Content-Encoding: gzip, none', 'gzip, none', GZIP),
  encoded('Content-Encoding: none, gzip', 'none, gzip', GZIP),
  encoded('Content-Encoding: gzip, identity', 'gzip, identity', GZIP),
  encoded('Content-Encoding: identity, gzip', 'identity, gzip', GZIP),
  encoded('Content-Encoding: gzip;q=1', 'gzip;q=1', GZIP),
  encoded('Content-Encoding: "gzip"', '"gzip"', GZIP),
  encoded('Content-Encoding: gzip,,', 'gzip,,', GZIP),
  encoded('Content-Encoding: GZip', 'GZip', GZIP),
  encoded('Content-Encoding: x-gzip', 'x-gzip', GZIP),
  encoded('Content-Encoding: gzip, gzip', 'gzip, gzip', gzipSync(GZIP)),
  encoded('gzip three times', 'gzip, gzip, gzip', gzipSync(gzipSync(GZIP))),
  encoded('gzip, but the body is plain', 'gzip', TEXT),
  encoded('gzip with trailing bytes', 'gzip', bytesOf([GZIP, 'garbage'])),
  encoded('gzip with trailing zeros', 'gzip', bytesOf([GZIP, '\0\0\0\0\0\0\0\0'])),
  encoded('gzip with trailing newline', 'gzip', bytesOf([GZIP, '\r\n'])),
  encoded('gzip with two members', 'gzip', bytesOf([gzipSync('hello, '), gzipSync('world')])),
  encoded('gzip cut in its data', 'gzip', gzipSync(TEXT.repeat(50)).subarray(0, 25)),
  encoded('gzip cut in its checksum', 'gzip', GZIP.subarray(0, -4)),
  encoded('gzip without its trailer', 'gzip', GZIP.subarray(0, -8)),
  encoded('gzip with a wrong checksum', 'gzip', bytesOf([GZIP.subarray(0, -8), '\0\0\0\0', GZIP.subarray(-4)])),
  encoded('gzip with a wrong length', 'gzip', bytesOf([GZIP.subarray(0, -4), '\x01\x01\x01\x01'])),
  encoded('gzip, empty body', 'gzip', ''),
  encoded('deflate with zlib header', 'deflate', deflateSync(TEXT)),
  encoded('raw deflate', 'deflate', deflateRawSync(TEXT)),
  encoded('deflate with trailing bytes', 'deflate', bytesOf([deflateSync(TEXT), 'garbage'])),
  encoded('raw deflate with trailing bytes', 'deflate', bytesOf([deflateRawSync(TEXT), 'garbage'])),
  encoded('deflate, but it is gzip', 'deflate', GZIP),
  encoded('gzip, but it is zlib', 'gzip', deflateSync(TEXT)),
  encoded('br with trailing bytes', 'br', bytesOf([BROTLI, 'garbage'])),
  encoded('br cut', 'br', brotliCompressSync(TEXT.repeat(50)).subarray(0, 10)),
  encoded('br, but the body is plain', 'br', TEXT),
  // lengths
  stays('Content-Length twice, equal', ok(LENGTH + LENGTH), TEXT),
  stays('Content-Length: 12, 12', ok('Content-Length: 12, 12\r\n'), TEXT),
  stays('Content-Length twice, different', ok(`${LENGTH}Content-Length: 5\r\n`), TEXT),
  stays('Content-Length: 12, 5', ok('Content-Length: 12, 5\r\n'), TEXT),
  stays('Content-Length: +12', ok('Content-Length: +12\r\n'), TEXT),
  stays('Content-Length: 0012', ok('Content-Length: 0012\r\n'), TEXT),
  closes('Content-Length: -1', ok('Content-Length: -1\r\n'), TEXT),
  closes('Content-Length: abc', ok('Content-Length: abc\r\n'), TEXT),
  closes('Content-Length: empty', ok('Content-Length:\r\n'), TEXT),
  closes('Content-Length: 12abc', ok('Content-Length: 12abc\r\n'), TEXT),
  closes('Content-Length: 0x0c', ok('Content-Length: 0x0c\r\n'), TEXT),
  closes('Content-Length: 12.0', ok('Content-Length: 12.0\r\n'), TEXT),
  closes('Content-Length: 2^64', ok('Content-Length: 18446744073709551616\r\n'), TEXT),
  closes('body shorter than Content-Length', ok('Content-Length: 100\r\n'), TEXT),
  stays('body longer than Content-Length', ok('Content-Length: 5\r\n'), TEXT),
  closes('body longer than Content-Length, then closed', ok('Content-Length: 5\r\n'), TEXT),
  closes('no length, until closed', ok(''), TEXT),
  { name: 'no length, reset', says: bytesOf([ok(''), TEXT]), next: 'reset' },
  stays('204 with a body', 'HTTP/1.1 204 No Content\r\n\r\n', TEXT),
  stays(
    'Content-Length and chunked',
    ok(`Content-Length: 5\r\nTransfer-Encoding: chunked\r\n`),
    'c\r\nhello, world\r\n0\r\n\r\n',
  ),
  stays(
    'chunked and Content-Length',
    ok(`Transfer-Encoding: chunked\r\nContent-Length: 5\r\n`),
    'c\r\nhello, world\r\n0\r\n\r\n',
  ),
  // transfer encodings
  stays('Transfer-Encoding: identity with a length', ok(`Transfer-Encoding: identity\r\n${LENGTH}`), TEXT),
  closes('Transfer-Encoding: identity, until closed', ok('Transfer-Encoding: identity\r\n'), TEXT),
  stays(
    'Transfer-Encoding: identity, chunked',
    ok('Transfer-Encoding: identity, chunked\r\n'),
    'c\r\nhello, world\r\n0\r\n\r\n',
  ),
  stays(
    'Transfer-Encoding: gzip, chunked',
    ok('Transfer-Encoding: gzip, chunked\r\n'),
    `${GZIP.length.toString(16)}\r\n`,
    GZIP,
    '\r\n0\r\n\r\n',
  ),
  stays(
    'Transfer-Encoding: gzip and Transfer-Encoding: chunked',
    ok('Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n'),
    `${GZIP.length.toString(16)}\r\n`,
    GZIP,
    '\r\n0\r\n\r\n',
  ),
  closes('Transfer-Encoding: gzip', ok('Transfer-Encoding: gzip\r\n'), GZIP),
  stays(
    'Transfer-Encoding: gzip with a length',
    ok(`Transfer-Encoding: gzip\r\nContent-Length: ${GZIP.length}\r\n`),
    GZIP,
  ),
  stays('Transfer-Encoding: Chunked', ok('Transfer-Encoding: Chunked\r\n'), 'c\r\nhello, world\r\n0\r\n\r\n'),
  stays(
    'Transfer-Encoding: chunked, chunked',
    ok('Transfer-Encoding: chunked, chunked\r\n'),
    'c\r\nhello, world\r\n0\r\n\r\n',
  ),
  stays(
    'Transfer-Encoding: chunked twice',
    ok('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n'),
    'c\r\nhello, world\r\n0\r\n\r\n',
  ),
  closes(
    'Transfer-Encoding: chunked, identity',
    ok('Transfer-Encoding: chunked, identity\r\n'),
    'c\r\nhello, world\r\n0\r\n\r\n',
  ),
  closes('Transfer-Encoding: "chunked"', ok('Transfer-Encoding: "chunked"\r\n'), 'c\r\nhello, world\r\n0\r\n\r\n'),
  closes('Transfer-Encoding: unknown token', ok('Transfer-Encoding: cow\r\n'), TEXT),
  closes('Transfer-Encoding: chunked, but the body is plain', ...chunked(TEXT)),
  closes(
    'HTTP/1.0 with chunked',
    `HTTP/1.0 200 OK\r\n${TYPE}Transfer-Encoding: chunked\r\n\r\n`,
    'c\r\nhello, world\r\n0\r\n\r\n',
  ),
  // chunks
  stays('chunk extension', ...chunked('c;a=b;c="d"\r\nhello, world\r\n0\r\n\r\n')),
  stays('chunk size with leading zeros', ...chunked('0000000000000000000000c\r\nhello, world\r\n0\r\n\r\n')),
  stays('chunk size in capitals', ...chunked('C\r\nhello, world\r\n0\r\n\r\n')),
  stays('chunk size with trailing spaces', ...chunked('c  \r\nhello, world\r\n0\r\n\r\n')),
  stays('chunk size with leading space', ...chunked(' c\r\nhello, world\r\n0\r\n\r\n')),
  stays('chunk size 0xc', ...chunked('0xc\r\nhello, world\r\n0\r\n\r\n')),
  stays('chunk size +c', ...chunked('+c\r\nhello, world\r\n0\r\n\r\n')),
  stays('chunk size over 2^64', ...chunked('fffffffffffffffff\r\nhello, world\r\n0\r\n\r\n')),
  stays('chunks with bare LF', ...chunked('c\nhello, world\n0\n\n')),
  stays('chunk longer than its size', ...chunked('5\r\nhello, world\r\n0\r\n\r\n')),
  stays('chunk without line end after it', ...chunked('chello, world0\r\n\r\n')),
  stays('trailers', ...chunked('c\r\nhello, world\r\n0\r\nX-Late: 1\r\n\r\n')),
  closes('trailers cut', ...chunked('c\r\nhello, world\r\n0\r\nX-Late: 1\r\n')),
  closes('last chunk without its line end', ...chunked('c\r\nhello, world\r\n0\r\n')),
  closes('missing last chunk', ...chunked('c\r\nhello, world\r\n')),
  closes('cut in a chunk', ...chunked('20\r\nhello, world')),
  stays('bytes after the last chunk', ...chunked('c\r\nhello, world\r\n0\r\n\r\nmore')),
  // status lines
  stays('100 Continue first', 'HTTP/1.1 100 Continue\r\n\r\n', ok(LENGTH), TEXT),
  stays('103 Early Hints first', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n', ok(LENGTH), TEXT),
  stays(
    'five 1xx responses first',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n'.repeat(2),
    'HTTP/1.1 100 Continue\r\n\r\n',
    ok(LENGTH),
    TEXT,
  ),
  stays('100 Continue with Content-Length: 0', 'HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n', ok(LENGTH), TEXT),
  stays('100 Continue with Content-Length: 3', 'HTTP/1.1 100 Continue\r\nContent-Length: 3\r\n\r\n', ok(LENGTH), TEXT),
  stays('199', 'HTTP/1.1 199 x\r\n\r\n', ok(LENGTH), TEXT),
  stays(
    '101 Switching Protocols',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
    ok(LENGTH),
    TEXT,
  ),
  stays('no reason phrase', `HTTP/1.1 200\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('no reason phrase, a space', `HTTP/1.1 200 \r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('reason phrase in raw UTF-8', `HTTP/1.1 200 \xc3\xa4\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('http/1.1 in lower case', `http/1.1 200 OK\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('HTTP/1.2', `HTTP/1.2 200 OK\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('HTTP/2.0 in clear text', `HTTP/2.0 200 OK\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('HTTP/3', `HTTP/3 200 OK\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('HTTP/1 200', `HTTP/1 200 OK\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('HTTP 200 without a version', `HTTP 200 OK\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('HTTP/1.1  200, two spaces', `HTTP/1.1  200 OK\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('HTTP/1.1<tab>200', `HTTP/1.1\t200 OK\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('HTTP/1.0 without keep-alive', `HTTP/1.0 200 OK\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('HTTP/1.0 with keep-alive', `HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  closes('HTTP/1.0 until closed', `HTTP/1.0 200 OK\r\n${TYPE}\r\n`, TEXT),
  stays('empty line before the status line', '\r\n', ok(LENGTH), TEXT),
  stays('three empty lines before the status line', '\r\n\r\n\r\n', ok(LENGTH), TEXT),
  stays('space before the status line', ' ', ok(LENGTH), TEXT),
  stays('four bytes before the status line', 'abcd', ok(LENGTH), TEXT),
  closes('five bytes before the status line', 'abcde', ok(LENGTH), TEXT),
  stays('a byte order mark before the status line', '\xef\xbb\xbf', ok(LENGTH), TEXT),
  stays('ICY 200 OK', `ICY 200 OK\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('status 0', `HTTP/1.1 0 x\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('status 20', `HTTP/1.1 20 x\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('status 2000', `HTTP/1.1 2000 x\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('status 600', `HTTP/1.1 600 x\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('status 999', `HTTP/1.1 999 x\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('status abc', `HTTP/1.1 abc OK\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('status -200', `HTTP/1.1 -200 OK\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('status 200OK', `HTTP/1.1 200OK\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('status 099', `HTTP/1.1 099 x\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  closes('HTTP/0.9', '<html>hello, world</html>'),
  closes('garbage', '\x00\x01\x02\x03garbage\r\n\r\n'),
  closes('nothing at all'),
  closes('headers cut', `HTTP/1.1 200 OK\r\n${TYPE}X-Cut: ab`),
  closes('headers without their end', `HTTP/1.1 200 OK\r\n${TYPE}`),
  // headers
  stays('bare LF', `HTTP/1.1 200 OK\n${TYPE.trim()}\nContent-Length: 12\n\n`, TEXT),
  stays('bare LF at the end of the headers only', `HTTP/1.1 200 OK\r\n${TYPE}${LENGTH}\n`, TEXT),
  stays('bare CR', `HTTP/1.1 200 OK\r${TYPE.trim()}\rContent-Length: 12\r\r`, TEXT),
  stays('bare CR in a value', ok(`X: a\rb\r\n${LENGTH}`), TEXT),
  stays('CR CR LF', `HTTP/1.1 200 OK\r\r\n${TYPE.trim()}\r\r\nContent-Length: 12\r\r\n\r\r\n`, TEXT),
  stays('folded header', ok(`X-Folded: one\r\n two\r\n${LENGTH}`), TEXT),
  stays('folded Content-Length', ok('Content-Length:\r\n 12\r\n'), TEXT),
  stays('folded first header', `HTTP/1.1 200 OK\r\n X: y\r\n${TYPE}${LENGTH}\r\n`, TEXT),
  stays('space before the colon', ok('Content-Length : 12\r\n'), TEXT),
  stays('space in a name', ok(`Bad Name: x\r\n${LENGTH}`), TEXT),
  stays('header without a colon', ok(`nonsense\r\n${LENGTH}`), TEXT),
  stays('header with an empty name', ok(`: x\r\n${LENGTH}`), TEXT),
  stays('header name in raw bytes', ok(`X-\xc3\xa4: x\r\n${LENGTH}`), TEXT),
  stays('header value in raw bytes', ok(`X: \xc3\xa4\xff\r\n${LENGTH}`), TEXT),
  stays('NUL in a value', ok(`X: a\0b\r\n${LENGTH}`), TEXT),
  stays('NUL in a name', ok(`X\0Y: a\r\n${LENGTH}`), TEXT),
  stays('control character in a value', ok(`X: a\x01b\r\n${LENGTH}`), TEXT),
  stays('no space after the colon', ok('Content-Length:12\r\n'), TEXT),
  stays('names in capitals', ok('CONTENT-LENGTH: 12\r\n'), TEXT),
  stays('two Location headers, different, on a 200', ok(`Location: /a\r\nLocation: /b\r\n${LENGTH}`), TEXT),
  stays('two Location headers, equal, on a 200', ok(`Location: /a\r\nLocation: /a\r\n${LENGTH}`), TEXT),
  stays(
    'two Content-Disposition headers, different',
    ok(`Content-Disposition: inline\r\nContent-Disposition: inline; a=b\r\n${LENGTH}`),
    TEXT,
  ),
  stays(
    'two Content-Disposition headers, equal',
    ok(`Content-Disposition: inline\r\nContent-Disposition: inline\r\n${LENGTH}`),
    TEXT,
  ),
  stays('Connection: close, but it stays open', ok(`Connection: close\r\n${LENGTH}`), TEXT),
  closes('Connection: keep-alive, but it closes', ok(`Connection: keep-alive\r\n${LENGTH}`), TEXT),
  stays('a second response', ok(LENGTH), TEXT, ok(LENGTH), TEXT),
]

interface Outcome {
  /** The text that it shows, its error, 'download', or 'waits' for a connection that is not closed. */
  readonly chromium: string
  /** The text of the page, or the code of the error. */
  readonly shoal: string
  /** Required wherever one of the two has a page and the other has not the same. */
  readonly because?: string
}

const SHOWN: Outcome = { chromium: TEXT, shoal: TEXT }

/** Chromium's half was recorded with Chromium 156; oracle.test.ts asks the Chromium that is installed. */
export function outcomeOf({ name }: Behaviour): Outcome {
  return OTHERWISE[name] ?? SHOWN
}

export const OTHERWISE: Readonly<Record<string, Outcome>> = {
  'Content-Encoding: gzip, none': {
    chromium: 'download',
    shoal: 'hello, world',
    because:
      'Chromium decodes nothing if it does not know one of the names; without the words that mean no coding the rest is right',
  },
  'Content-Encoding: none, gzip': {
    chromium: 'download',
    shoal: 'hello, world',
    because:
      'Chromium decodes nothing if it does not know one of the names; without the words that mean no coding the rest is right',
  },
  'Content-Encoding: gzip, identity': {
    chromium: 'download',
    shoal: 'hello, world',
    because:
      'Chromium decodes nothing if it does not know one of the names; without the words that mean no coding the rest is right',
  },
  'Content-Encoding: identity, gzip': {
    chromium: 'download',
    shoal: 'hello, world',
    because:
      'Chromium decodes nothing if it does not know one of the names; without the words that mean no coding the rest is right',
  },
  'Content-Encoding: gzip;q=1': { chromium: 'ERR_CONTENT_DECODING_FAILED', shoal: 'decode_error' },
  'Content-Encoding: "gzip"': { chromium: 'ERR_CONTENT_DECODING_FAILED', shoal: 'decode_error' },
  'Content-Encoding: gzip,,': {
    chromium: 'download',
    shoal: 'hello, world',
    because:
      'Chromium decodes nothing if it does not know one of the names; without the words that mean no coding the rest is right',
  },
  'gzip three times': {
    chromium: 'hello, world',
    shoal: 'decode_error',
    because: 'no site needs three layers; each one multiplies what a small body costs',
  },
  'gzip, but the body is plain': { chromium: 'ERR_CONTENT_DECODING_FAILED', shoal: 'decode_error' },
  'gzip with two members': {
    chromium: 'hello, ',
    shoal: 'hello, world',
    because: 'RFC 1952: the members of a gzip file belong together; Chromium shows the first',
  },
  'gzip cut in its data': {
    chromium: 'hello, worldh',
    shoal: 'decode_error',
    because: 'what was cut is never stored as a complete page',
  },
  'gzip, empty body': { chromium: '', shoal: '' },
  'raw deflate with trailing bytes': {
    chromium: 'ERR_CONTENT_DECODING_FAILED',
    shoal: 'hello, world',
    because: 'the data is whole; what follows it is ignored for all codings',
  },
  'deflate, but it is gzip': { chromium: 'ERR_CONTENT_DECODING_FAILED', shoal: 'decode_error' },
  'gzip, but it is zlib': { chromium: 'ERR_CONTENT_DECODING_FAILED', shoal: 'decode_error' },
  'br cut': { chromium: '', shoal: 'decode_error', because: 'what was cut is never stored as a complete page' },
  'br, but the body is plain': { chromium: 'ERR_CONTENT_DECODING_FAILED', shoal: 'decode_error' },
  'Content-Length twice, different': {
    chromium: 'ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_LENGTH',
    shoal: 'protocol_error',
  },
  'Content-Length: 12, 5': { chromium: 'ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_LENGTH', shoal: 'protocol_error' },
  'Content-Length: +12': { chromium: 'waits', shoal: 'timeout' },
  'Content-Length: 2^64': { chromium: 'hello, world', shoal: 'too_large', because: 'the length is over every limit' },
  'body shorter than Content-Length': { chromium: 'ERR_CONTENT_LENGTH_MISMATCH', shoal: 'truncated' },
  'body longer than Content-Length': {
    chromium: 'hello',
    shoal: 'truncated',
    because: 'the length is wrong, or what follows is not ours: neither is stored',
  },
  'body longer than Content-Length, then closed': {
    chromium: 'hello',
    shoal: 'truncated',
    because: 'the length is wrong, or what follows is not ours: neither is stored',
  },
  'no length, reset': { chromium: 'ERR_CONNECTION_RESET', shoal: 'truncated' },
  '204 with a body': {
    chromium: 'ERR_ABORTED',
    shoal: '',
    because: 'a 204 is a page without a body; Chromium stays where it was',
  },
  'Transfer-Encoding: gzip, chunked': {
    chromium: 'download',
    shoal: 'hello, world',
    because: 'RFC 9112: decoded; Chromium offers the compressed bytes as a download',
  },
  'Transfer-Encoding: gzip and Transfer-Encoding: chunked': {
    chromium: 'download',
    shoal: 'hello, world',
    because: 'RFC 9112: decoded; Chromium offers the compressed bytes as a download',
  },
  'Transfer-Encoding: gzip': {
    chromium: 'download',
    shoal: 'hello, world',
    because: 'RFC 9112: decoded; Chromium offers the compressed bytes as a download',
  },
  'Transfer-Encoding: gzip with a length': {
    chromium: 'download',
    shoal: 'hello, world',
    because: 'RFC 9112: decoded; Chromium offers the compressed bytes as a download',
  },
  'Transfer-Encoding: "chunked"': {
    chromium: 'c\nhello, world\n0\n\n',
    shoal: 'protocol_error',
    because: 'it may be chunked or not; the markers of chunks are not part of a page',
  },
  'Transfer-Encoding: chunked, but the body is plain': {
    chromium: 'ERR_INCOMPLETE_CHUNKED_ENCODING',
    shoal: 'truncated',
  },
  'HTTP/1.0 with chunked': {
    chromium: 'c\nhello, world\n0\n\n',
    shoal: 'hello, world',
    because: 'the markers of chunks are not part of a page; the connection is closed',
  },
  'chunk size with leading space': { chromium: 'ERR_INVALID_CHUNKED_ENCODING', shoal: 'protocol_error' },
  'chunk size 0xc': { chromium: 'ERR_INVALID_CHUNKED_ENCODING', shoal: 'protocol_error' },
  'chunk size +c': { chromium: 'ERR_INVALID_CHUNKED_ENCODING', shoal: 'protocol_error' },
  'chunk size over 2^64': { chromium: 'ERR_INVALID_CHUNKED_ENCODING', shoal: 'protocol_error' },
  'chunk longer than its size': { chromium: 'ERR_INVALID_CHUNKED_ENCODING', shoal: 'protocol_error' },
  'chunk without line end after it': { chromium: 'ERR_INVALID_CHUNKED_ENCODING', shoal: 'protocol_error' },
  'trailers cut': { chromium: 'ERR_INCOMPLETE_CHUNKED_ENCODING', shoal: 'truncated' },
  'last chunk without its line end': { chromium: 'ERR_INCOMPLETE_CHUNKED_ENCODING', shoal: 'truncated' },
  'missing last chunk': { chromium: 'ERR_INCOMPLETE_CHUNKED_ENCODING', shoal: 'truncated' },
  'cut in a chunk': { chromium: 'ERR_INCOMPLETE_CHUNKED_ENCODING', shoal: 'truncated' },
  '101 Switching Protocols': {
    chromium: 'hello, world',
    shoal: 'protocol_error',
    because: 'what follows a 101 is another protocol',
  },
  'three empty lines before the status line': { chromium: 'ERR_INVALID_HTTP_RESPONSE', shoal: 'protocol_error' },
  'space before the status line': {
    chromium: 'hello, world',
    shoal: 'protocol_error',
    because: 'bytes before a response may be the rest of another one; only empty lines are skipped',
  },
  'four bytes before the status line': {
    chromium: 'hello, world',
    shoal: 'protocol_error',
    because: 'bytes before a response may be the rest of another one; only empty lines are skipped',
  },
  'five bytes before the status line': { chromium: 'ERR_INVALID_HTTP_RESPONSE', shoal: 'protocol_error' },
  'a byte order mark before the status line': {
    chromium: 'hello, world',
    shoal: 'protocol_error',
    because: 'bytes before a response may be the rest of another one; only empty lines are skipped',
  },
  'ICY 200 OK': { chromium: 'waits', shoal: 'protocol_error' },
  'status 0': {
    chromium: 'hello, world',
    shoal: 'protocol_error',
    because: 'without a status of three digits nobody can say what the response is',
  },
  'status 20': {
    chromium: 'hello, world',
    shoal: 'protocol_error',
    because: 'without a status of three digits nobody can say what the response is',
  },
  'status 2000': {
    chromium: 'hello, world',
    shoal: 'protocol_error',
    because: 'without a status of three digits nobody can say what the response is',
  },
  'status abc': {
    chromium: 'hello, world',
    shoal: 'protocol_error',
    because: 'without a status of three digits nobody can say what the response is',
  },
  'status -200': {
    chromium: 'hello, world',
    shoal: 'protocol_error',
    because: 'without a status of three digits nobody can say what the response is',
  },
  'status 099': {
    chromium: 'hello, world',
    shoal: 'protocol_error',
    because: 'without a status of three digits nobody can say what the response is',
  },
  'HTTP/0.9': { chromium: 'ERR_INVALID_HTTP_RESPONSE', shoal: 'protocol_error' },
  garbage: { chromium: 'ERR_INVALID_HTTP_RESPONSE', shoal: 'protocol_error' },
  'nothing at all': { chromium: 'ERR_EMPTY_RESPONSE', shoal: 'connect_error' },
  'headers cut': { chromium: '', shoal: 'truncated', because: 'what was cut is never stored as a complete page' },
  'headers without their end': {
    chromium: '',
    shoal: 'truncated',
    because: 'what was cut is never stored as a complete page',
  },
  'bare CR': { chromium: 'waits', shoal: 'timeout' },
  'CR CR LF': { chromium: 'waits', shoal: 'timeout' },
  'NUL in a value': { chromium: 'ERR_INVALID_HTTP_RESPONSE', shoal: 'protocol_error' },
  'NUL in a name': { chromium: 'ERR_INVALID_HTTP_RESPONSE', shoal: 'protocol_error' },
  'two Location headers, different, on a 200': {
    chromium: 'ERR_RESPONSE_HEADERS_MULTIPLE_LOCATION',
    shoal: 'protocol_error',
  },
  'two Content-Disposition headers, different': {
    chromium: 'ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_DISPOSITION',
    shoal: 'protocol_error',
  },
}
