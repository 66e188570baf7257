import { describe, expect, it } from 'vitest'
import { isTemplate, parseTemplate, type TemplateValues } from '../../src/url/template.js'

const all = (template: string, values?: TemplateValues) => [...parseTemplate(template, values).urls()]

describe('a template of URLs', () => {
  it.each<[string, TemplateValues | undefined, string[]]>([
    ['/p/{1..3}', undefined, ['/p/1', '/p/2', '/p/3']],
    ['/p/{3..1}', undefined, ['/p/3', '/p/2', '/p/1']],
    ['/p/{08..11}', undefined, ['/p/08', '/p/09', '/p/10', '/p/11']],
    ['/p/{0..50..20}', undefined, ['/p/0', '/p/20', '/p/40']],
    ['/{de,fr}/{1..2}', undefined, ['/de/1', '/de/2', '/fr/1', '/fr/2']],
    ['/?page={n}', { n: '1..2' }, ['/?page=1', '/?page=2']],
    ['/{word}.html', { word: ['a', 'b c'] }, ['/a.html', '/b c.html']],
    ['/x{,y}', undefined, ['/x', '/xy']],
    ['/plain', undefined, ['/plain']],
    ['/{0..0}', undefined, ['/0']],
  ])('%s with %o', (template, values, urls) => {
    expect(all(template, values)).toEqual(urls)
    expect(parseTemplate(template, values).count).toBe(urls.length)
  })

  it.each([
    ['/{1..', undefined],
    ['/{n}', undefined],
    ['/{}', undefined],
    ['/{1..5..0}', undefined],
    ['/{1..99999999999999999999}', undefined],
    ['/{a..z}', undefined],
    ['/{n}', { n: [] }],
    ['/{1..2}', { n: '1..2' }],
    ['/{{1..2}}', undefined],
  ])('refuses %s', (template, values) => {
    expect(() => parseTemplate(template, values)).toThrow(expect.objectContaining({ code: 'bad_template' }))
  })

  it('knows its size before the first, and makes them one by one', () => {
    const template = parseTemplate('/{1..1000000}/{1..1000000}')
    expect(template.count).toBe(1e12)
    const urls = template.urls()
    expect([urls.next().value, urls.next().value]).toEqual(['/1/1', '/1/2'])
  })

  it('is told from a plain URL', () => {
    expect([isTemplate('https://a.example/{1..2}'), isTemplate('https://a.example/{}'), isTemplate('/x')]).toEqual([
      true,
      false,
      false,
    ])
  })
})
