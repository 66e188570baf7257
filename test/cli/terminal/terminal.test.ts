import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { clean } from '../../../src/cli/terminal/clean.js'
import { bytes, count, duration, percent, plural, rate } from '../../../src/cli/terminal/format.js'
import { liveLines } from '../../../src/cli/terminal/live.js'
import { styleFor } from '../../../src/cli/terminal/style.js'
import { figure, naming, remark, table } from '../../../src/cli/terminal/table.js'
import { cutEnd, cutMiddle, padEnd, widthOf, wrap } from '../../../src/cli/terminal/width.js'

describe('numbers', () => {
  it('are written for people', () => {
    expect([0, 999, 1000, 1234567].map(count)).toEqual(['0', '999', '1,000', '1,234,567'])
    expect([0, 12, 999, 1500, 59_400, 60_000, 3_725_000, 200_000_000].map(duration)).toEqual([
      '0 ms',
      '12 ms',
      '999 ms',
      '1.5 s',
      '59 s',
      '1 min 00 s',
      '1 h 02 min',
      '2 d 7 h',
    ])
    expect([5, 999, 1000, 1_500_000, 999_700].map(bytes)).toEqual(['5 B', '999 B', '1.0 kB', '1.5 MB', '1.0 MB'])
    expect([0, 0.5, 3.21, 1234].map(rate)).toEqual(['0.0/s', '30.0/min', '3.2/s', '1,234/s'])
    expect([0, 1, 2].map((value) => plural(value, 'page'))).toEqual(['no pages', '1 page', '2 pages'])
    expect(percent(999, 1000)).toBe('99 %')
  })

  it('give a duration that never shows 60 seconds or 60 minutes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e9 }), (ms) => void expect(duration(ms)).not.toMatch(/(^| )60 (s|min)/)),
    )
  })
})

describe('text from the web', () => {
  it('cannot move the cursor, colour, or turn the direction of a line', () => {
    expect(clean('a\x1b[2Jb\r\nc\u202ed\x9b')).toBe('a [2Jb c d ')
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        for (const char of clean(text)) expect(char.codePointAt(0)).toBeGreaterThanOrEqual(0x20)
      }),
    )
  })
})

describe('width', () => {
  it('counts columns, not characters', () => {
    expect([widthOf('abc'), widthOf('日本'), widthOf('e\u0301'), widthOf('\x1b[31mred\x1b[39m')]).toEqual([3, 4, 1, 3])
  })

  it('is kept by cutting and padding', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 40 }), (raw, width) => {
        const text = clean(raw)
        expect(widthOf(cutMiddle(text, width))).toBeLessThanOrEqual(width)
        expect(widthOf(cutEnd(text, width))).toBeLessThanOrEqual(width)
        expect(widthOf(padEnd(cutEnd(text, width), width))).toBe(width)
      }),
    )
    expect(cutMiddle('https://shop.example/a/very/long/path/end.html', 20)).toBe('https://sh…/end.html')
  })
})

describe('a table', () => {
  const columns = [
    { title: 'url', shrinks: true },
    { title: 'count', right: true },
  ]
  const rows = [
    ['https://shop.example/a/very/long/path', '1'],
    ['https://shop.example/', '1,000'],
  ]

  it('aligns, and gives way only in the column that may shrink', () => {
    expect(table(columns, rows, 30, (text) => text)).toEqual([
      'url                      count',
      'https://sho…y/long/path      1',
      'https://shop.example/    1,000',
    ])
  })

  it('never cuts a name: it has a line of its own where it is too long, and remarks go below', () => {
    const hosts = [
      ['a-very-long-host-name.shop.example', '7', 'every 3.0 s, 2 at once', 'in 1.8 s: crawl delay'],
      ['b.example', '1,000', '', 'now'],
    ]
    const titles = [naming('host'), figure('pending'), remark('pace'), remark('next slot')]
    expect(table(titles, hosts, 30, (text) => text)).toEqual([
      'host                   pending',
      'a-very-long-host-name.shop.example',
      '                             7',
      '  pace: every 3.0 s, 2 at',
      '    once; next slot: in 1.8 s:',
      '    crawl delay',
      'b.example                1,000',
      '  next slot: now',
    ])
    expect(table(titles, hosts, 200, (text) => text)).toHaveLength(3)
  })

  it('drops columns before it gives a name a line of its own', () => {
    const titles = [naming('worker'), { title: 'machine', yields: 1 }, figure('done')]
    expect(table(titles, [['mill-1-k0hq9f3z', 'mill', '7']], 24, (text) => text)).toEqual([
      'worker           done',
      'mill-1-k0hq9f3z     7',
    ])
  })

  it('cuts nothing on a pipe', () => {
    expect(table(columns, rows, Number.POSITIVE_INFINITY, (text) => text)[1]).toContain('/a/very/long/path')
  })
})

describe('a wrapped line', () => {
  it('keeps its indent, and continues two columns further in', () => {
    expect(wrap('  one two three four', 12)).toEqual(['  one two', '    three', '    four'])
    expect(wrap('  short', 12)).toEqual(['  short'])
  })

  it('leaves a word whole that is too long', () => {
    expect(wrap('see https://shop.example/a/long/path now', 12)).toEqual([
      'see',
      '  https://shop.example/a/long/path',
      '  now',
    ])
  })
})

describe('colours', () => {
  it('are for terminals that want them', () => {
    expect(styleFor({ isTTY: true }, {}).red('x')).toBe('\x1b[31mx\x1b[39m')
    expect(styleFor({ isTTY: true }, { NO_COLOR: '1' }).red('x')).toBe('x')
    expect(styleFor({ isTTY: true }, { TERM: 'dumb' }).red('x')).toBe('x')
    expect(styleFor({}, {}).red('x')).toBe('x')
  })
})

describe('live lines', () => {
  const record = (rows?: number) => {
    let written = ''
    const stream = { columns: 20, rows, write: (text: string) => (written += text) } as unknown as NodeJS.WriteStream
    return { live: liveLines(stream), written: () => written }
  }

  it('are drawn over, kept below what is said, and taken away with the cursor given back', () => {
    const { live, written } = record()
    live.draw(['one', 'two'])
    live.draw(['three'])
    live.say('said')
    live.stop()
    expect(written()).toBe(
      '\x1b[?25lone\ntwo\n\x1b[2A\r\x1b[Jthree\n\x1b[1A\r\x1b[Jsaid\nthree\n\x1b[1A\r\x1b[J\x1b[?25h',
    )
  })

  it('leave out what does not fit on the terminal, which could not be drawn over', () => {
    const { live, written } = record(4)
    live.draw(['1', '2', '3', '4', '5'])
    expect(written()).toContain('1\n2\n… 3 more lines:')
    expect(written()).not.toContain('3\n4')
  })

  it('never wrap, colours or not', () => {
    const { live, written } = record()
    live.draw([`\x1b[31m${'x'.repeat(50)}\x1b[39m`])
    expect(written()).toContain(`\x1b[31m${'x'.repeat(18)}…\x1b[39m\n`)
  })
})
