import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/clock.js'
import { wordSearch } from '../../src/proxy/word-search.js'

const bytes = (text: string) => new TextEncoder().encode(text)

describe('a search for words', () => {
  const words = ['captcha', '_cf_chl_opt', 'var dd={', '/sorry/index?']
  const mayStandIn = wordSearch(words)

  it('finds each of them anywhere, in any case', () => {
    const random = seededRandom(1)
    const filling = (length: number) =>
      Array.from({ length }, () => 'capthvrd_ />{\n'[Math.floor(random() * 14)] ?? '').join('')
    for (let round = 0; round < 2_000; round++) {
      const word = words[round % words.length] ?? ''
      const text = `${filling(round % 41)}${round % 2 === 0 ? word : word.toUpperCase()}${filling(round % 7)}`
      expect(mayStandIn(bytes(text), 8_192), text).toBe(true)
    }
  })

  it('finds nothing in other texts, nor behind the end of what is looked at', () => {
    expect(mayStandIn(bytes('a page about chairs, captchs and cf_chl_opt'), 8_192)).toBe(false)
    expect(mayStandIn(bytes(`${' '.repeat(100)}captcha`), 100)).toBe(false)
    expect(mayStandIn(bytes(''), 8_192)).toBe(false)
    expect(mayStandIn(bytes('captch'), 8_192)).toBe(false)
  })
})
