import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { showUrl, withoutUserInfo } from '../../src/url/show-url.js'

const CANARY = 'c4nary'

describe('a shown URL', () => {
  it.each([
    ['https://anna:c4nary@shop.example/a', 'https://shop.example/a'],
    ['https://c4nary@shop.example', 'https://shop.example'],
    ['//anna:c4nary@shop.example/', '//shop.example/'],
    ['\\\\anna:c4nary@shop.example', '\\\\shop.example'],
    ['/\\anna:c4nary@shop.example', '/\\shop.example'],
    ['https:anna:c4nary@shop.example/', 'https:shop.example/'],
    ['https:/anna:c4nary@shop.example/', 'https:/shop.example/'],
    ['HTTP:\\anna:c4nary@shop.example', 'HTTP:\\shop.example'],
    ['ftp://anna:c4nary@files.example', 'ftp://files.example'],
    [' \u0001\thttps://anna:c4nary@shop.example', 'https://shop.example'],
    ['ht\ntps://anna:c4\nnary@shop.example', 'https://shop.example'],
    ['https://anna:c4nary@b@c:c4nary@shop.example', 'https://shop.example'],
    ['https://an na:"c4nary"@shop.example', 'https://shop.example'],
    ['anna:c4nary@shop.example/a', 'shop.example/a'],
    ['{"url":"https://anna:c4nary@shop.example/"}', '{"url":"https://shop.example/"}'],
    ['{"url":"https:\\/\\/anna:c4nary@shop.example/"}', '{"url":"https:\\/\\/shop.example/"}'],
    ['refused: https://anna:c4nary@a.example/ and //b:c4nary@b.example', 'refused: https://a.example/ and //b.example'],
    [`https://anna:${'c4nary'.repeat(1_000)}@shop.example/`, 'https://shop.example/'],
  ])('%j has no user info', (text, shown) => {
    expect(showUrl(text)).toBe(shown)
  })

  it.each(['https://medium.example/@anna', 'https://a.example/?mail=x@y.example', 'mailto:anna@shop.example', '@anna'])(
    '%s keeps an @ that is no user info',
    (text) => expect(showUrl(text)).toBe(text),
  )

  it('shows no password, wherever the URL is in a text', () => {
    const gap = fc.constantFrom('', ' ', '"', 'see ', '\n')
    const slashes = fc.constantFrom('//', '\\\\', '/\\', 'https://', 'http:', 'ws://', '///')
    fc.assert(
      fc.property(gap, slashes, fc.stringMatching(/^[a-z0-9:;,.%-]{0,30}$/), (before, start, user) => {
        expect(withoutUserInfo(`${before}${start}${user}:${CANARY}@shop.example/`)).not.toContain(CANARY)
      }),
    )
  })

  it('takes linear time', () => {
    const began = performance.now()
    for (const piece of ['/', 'https:', '@', '//@', 'a:', '\\', '//x', 'https:/'])
      for (const text of [`${piece.repeat(20_000)}@`, `@${piece.repeat(20_000)}`]) withoutUserInfo(text)
    expect(performance.now() - began).toBeLessThan(1_000)
  })
})
