import { describe, expect, it } from 'vitest'
import { requestText } from '../../src/fetch/http/h1-request.js'

const ORIGIN = 'https://x.example'
const text = (headers: readonly string[], path = '/', method = 'GET') =>
  requestText({ path, method, headers, body: null }, ORIGIN, true)

describe('a request as it is written', () => {
  it('has the headers of the spider', () => {
    expect(text(['accept', 'text/html', 'x-name', 'M\u00fcller\ta'])).toBe(
      'GET / HTTP/1.1\r\nhost: x.example\r\nconnection: keep-alive\r\naccept: text/html\r\nx-name: M\u00fcller\ta\r\n\r\n',
    )
  })

  it.each([
    ['a line end in a value', ['x-a', 'b\r\nx-evil: 1']],
    ['a line feed alone', ['x-a', 'b\nx-evil: 1']],
    ['a letter whose lower byte is a line feed', ['x-a', 'b\u010ax-evil: 1']],
    ['a letter outside of Latin-1', ['x-a', '\u20ac']],
    ['NUL', ['x-a', 'a\0b']],
    ['a line end in a name', ['x-a: 1\r\nx-evil', 'b']],
    ['a space in a name', ['x a', 'b']],
    ['no name', ['', 'b']],
    ['a line end in the host', ['host', 'a\r\nx-evil: 1']],
  ])('is not sent with %s', (_, headers) => {
    expect(() => text(headers)).toThrow(/cannot be sent: its header/)
  })

  it.each([
    ['/a b', 'GET'],
    ['/a\r\nx: y', 'GET'],
    ['/\u010a', 'GET'],
    ['/', 'GET /x HTTP/1.1\r\n'],
    ['/', ''],
  ])('is not sent with the path %j and the method %j', (path, method) => {
    expect(() => text([], path, method)).toThrow(/cannot be sent: its path or method/)
  })
})
