import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cleanLayout } from '../src/cli/terminal/clean.js'
import { systemClock } from '../src/clock.js'
import { jsonText } from '../src/json-text.js'
import { createLog } from '../src/log.js'

/** Everything a terminal obeys or does not show, apart from what JSON.stringify escapes itself. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

describe('JSON that is printed', () => {
  it('shows C1 controls, changes of direction and everything invisible as escapes', () => {
    const texts = [
      '\u009b2J',
      '\u0085',
      '\u007f',
      'a\u202eb',
      '\u2066',
      '\u200e',
      '\u061c',
      '\u200b',
      '\ufeff',
      '\u{e0041}',
    ]
    for (const text of texts) {
      expect(jsonText({ [text]: text })).not.toMatch(UNSEEN)
      expect(JSON.parse(jsonText({ [text]: text }))).toEqual({ [text]: text })
    }
    expect(jsonText('\u{e0041}')).toBe('"\\udb40\\udc41"')
  })

  it('is the same value for a parser, whatever it contains', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const value = { [text]: [text] }
        expect(jsonText(value)).not.toMatch(UNSEEN)
        expect(JSON.parse(jsonText(value))).toEqual(value)
      }),
    )
  })

  it('is what a log line is made of: the reason phrase of a server, the subject of a certificate', () => {
    let line = ''
    createLog('info', systemClock, (text) => {
      line += text
    }).info('backend.warning', { message: 'CN=\u009b31mevil\u202e' })
    expect(line.trimEnd()).not.toMatch(UNSEEN)
    expect(JSON.parse(line)).toMatchObject({ message: 'CN=\u009b31mevil\u202e' })
  })
})

describe('a printed line', () => {
  it('keeps colours, line breaks and joiners, and nothing else that a terminal obeys', () => {
    expect(cleanLayout('\x1b[31mred\x1b[39m\n\tnext')).toBe('\x1b[31mred\x1b[39m\n\tnext')
    expect(cleanLayout('\x1b]0;title\x07\x1b[2J\x9bK\r\u202e\u200b')).toBe(' ]0;title  [2J K   ')
    expect(cleanLayout('👩\u200d💻 می\u200cخواهم')).toBe('👩\u200d💻 می\u200cخواهم')
  })
})
