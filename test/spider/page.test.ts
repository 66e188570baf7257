import { describe, expect, it } from 'vitest'
import { createPage } from '../../src/spider/page.js'

function page(body: string | Uint8Array, contentType = 'text/html; charset=utf-8') {
  return createPage({
    url: 'https://x.example/a/',
    requestedUrl: 'https://x.example/a',
    status: 200,
    headers: { 'content-type': contentType },
    body: typeof body === 'string' ? Buffer.from(body) : body,
    route: 'r',
    depth: 1,
    attempt: 1,
    data: { n: 1 },
  })
}

describe('a page', () => {
  it('carries what the fetch knew', () => {
    expect(page('x')).toMatchObject({ url: 'https://x.example/a/', status: 200, route: 'r', depth: 1, data: { n: 1 } })
  })

  it('decodes once', () => {
    const one = page(Buffer.from([0xe9]), 'text/html; charset=latin1')
    expect(one.text).toBe('é')
    one.body[0] = 0x61
    expect(one.text).toBe('é')
  })

  it('parses JSON, and says where it is not', () => {
    expect(page('{"a":[1]}', 'application/json').json).toEqual({ a: [1] })
    expect(() => page('{"a":}', 'application/json').json).toThrowError(
      expect.objectContaining({ code: 'handler_error', message: expect.stringContaining("Unexpected token '}'") }),
    )
  })

  it('keeps __proto__ of JSON as data', () => {
    const { json } = page('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}')
    expect(Object.hasOwn(json as object, '__proto__')).toBe(true)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it('has a jQuery-like view, built once', () => {
    const one = page('<h1>Title</h1><a href="b">x</a>')
    expect(one.$('h1').text()).toBe('Title')
    expect(one.$).toBe(one.$)
    expect(one.$('a').prop('href')).toBe('https://x.example/a/b')
  })
})
