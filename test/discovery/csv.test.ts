import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { createCsvParser, csvSource } from '../../src/discovery/csv.js'
import { tempDir } from '../support/cli.js'

const dir = tempDir('csv')
afterAll(() => dir.remove())

function parse(text: string, size = text.length): string[][] {
  const parser = createCsvParser()
  const rows: string[][] = []
  for (let at = 0; at < text.length; at += size) rows.push(...parser.write(text.slice(at, at + size)))
  return [...rows, ...parser.end()]
}

const TABLE: [string, string, string[][]][] = [
  [
    'plain',
    'a,b\n1,2\n',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'no last line end',
    'a,b\n1,2',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'CRLF, CR and blank lines',
    'a,b\r\n\r\n1,2\r3,4\n\n',
    [
      ['a', 'b'],
      ['1', '2'],
      ['3', '4'],
    ],
  ],
  [
    'quotes with separators, line ends and quotes',
    '"a,1","b\n""2"""\nx,y\n',
    [
      ['a,1', 'b\n"2"'],
      ['x', 'y'],
    ],
  ],
  ['empty fields', ',"",\n', [['', '', '']]],
  [
    'semicolons',
    'a;b\n1,5;2\n',
    [
      ['a', 'b'],
      ['1,5', '2'],
    ],
  ],
  [
    'tabs',
    'a\tb\n1\t2\n',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'a byte order mark',
    '\uFEFFurl,b\n1,2\n',
    [
      ['url', 'b'],
      ['1', '2'],
    ],
  ],
  ['a quote inside a field', 'a,5" pipe\n', [['a', '5" pipe']]],
  ['one column', 'url\nhttps://a.example/1\n', [['url'], ['https://a.example/1']]],
  ['nothing', '', []],
]

describe('CSV', () => {
  it('that is one row without end is refused', () => {
    const cells = `a,b\n${'x,'.repeat(2_200_000)}`
    expect(() => parse(cells, 65_536)).toThrow(/a row of the CSV file is longer/)
  })

  it.each(TABLE)('%s', (_, text, rows) => {
    for (const size of [1, 2, 3, 7, 1_000]) expect(parse(text, size)).toEqual(rows)
  })

  it('reads back whatever is written by the book', () => {
    const field = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r', ' ', 'é') })
    fc.assert(
      fc.property(fc.array(fc.tuple(field, field), { minLength: 1 }), fc.integer({ min: 1, max: 9 }), (rows, size) => {
        const text = rows.map((row) => `${row.map((one) => `"${one.replaceAll('"', '""')}"`).join(',')}\r\n`).join('')
        expect(parse(`x,y\n${text}`, size)).toEqual([['x', 'y'], ...rows])
      }),
    )
  })

  it('ends a quote that is never closed', () => {
    expect(() => parse(`a,"${'x'.repeat(2_000_000)}`, 65_536)).toThrow(
      expect.objectContaining({ code: 'seeds_unreadable' }),
    )
  })

  it('gives one column, by name or by number', async () => {
    const file = join(dir.path, 'urls.csv')
    writeFileSync(file, 'id,Link\n1,https://a.example/1\n2,\n3,"https://a.example/3"\n')
    const all = async (column: string | number) => {
      const urls: unknown[] = []
      for await (const url of csvSource(file, column).entries()) urls.push(url)
      return urls
    }
    expect(await all('link')).toEqual(['https://a.example/1', 'https://a.example/3'])
    expect(await all(2)).toEqual(['Link', 'https://a.example/1', 'https://a.example/3'])
    await expect(all('url')).rejects.toMatchObject({
      code: 'seeds_unreadable',
      hint: expect.stringContaining("'Link'"),
    })
    expect(() => csvSource(join(dir.path, 'none.csv'), 1)).toThrow(expect.objectContaining({ code: 'usage' }))
  })
})
