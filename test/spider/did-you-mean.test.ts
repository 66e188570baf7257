import { describe, expect, it } from 'vitest'
import { asShoalError } from '../../src/errors.js'
import { defineSpider } from '../../src/spider/definition.js'
import { foreignSelector } from '../../src/spider/html/foreign-selector.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'

/** The error of a spider with this route. */
function refused(route: object): { code: string; message: string; hint: string } {
  try {
    spiderFromDefinition(
      defineSpider({
        ...{ name: 'books', start: ['https://books.example/'], records: { book: {} } },
        routes: { book: { match: '**', ...route } } as never,
      }),
    )
  } catch (error) {
    return asShoalError(error)
  }
  throw new Error('it was accepted')
}

const field = (title: unknown) => refused({ record: { kind: 'book', fields: { title } } })

describe('a selector of another tool', () => {
  it.each<[source: string, here: string | null]>([
    ['h1::text', 'h1'],
    ['.product_main h1::text', '.product_main h1'],
    ['h1::text, h2::text', 'h1, h2'],
    ['a::attr(href)', 'a@href'],
    ['a.next::attr( href )', 'a.next@href'],
    ['a::attr(href), b::attr(href)', 'a, b@href'],
    ['a::attr(href), b::attr(src)', null],
    ['::attr(href)', '*@href'],
    ['//h1', 'h1'],
    ['//h1/text()', 'h1'],
    ['//div/p', 'div > p'],
    ['.//div//p', 'div p'],
    ['/html/body/div[2]/h1', 'html > body > div:nth-of-type(2) > h1'],
    ['//a/@href', 'a@href'],
    ['//*[@id="main"]', '#main'],
    ["//div[@class='price big']/span", 'div.price.big > span'],
    ['//div[contains(@class, "price")]', 'div.price'],
    ['//a[contains(@href, "/book/")]/@href', 'a[href*="/book/"]@href'],
    ['//img[@src]', 'img[src]'],
    ['//h2[text()="Price"]/following-sibling::p', null],
    ['(//h1)[1]', null],
    ['xpath://h1', 'h1'],
    ['xpath=//h1', 'h1'],
    ['css:h1', 'h1'],
    ['css=h1::text', 'h1'],
  ])('%s → %s', (source, here) => {
    expect(foreignSelector(source)?.here).toBe(here)
    const { code, message, hint } = field(source)
    expect(code).toBe('bad_selector')
    expect(message).toContain('routes.book.record.fields.title: selector ')
    if (here !== null) expect(hint).toBe(`Write '${here}'.`)
    // What is suggested is a selector.
    if (here !== null) expect(foreignSelector(here)).toBeNull()
  })

  it.each(['h1', 'a@href', 'css-grid h1', 'x-path', '.css', 'a:not(.x)', 'a[href^="//cdn"]', '.text'])(
    '%s is one of ours',
    (source) => {
      expect(foreignSelector(source)).toBeNull()
    },
  )

  it('is recognised in follow rules and in render.wait too', () => {
    expect(refused({ follow: [{ links: '//a/@href' }] })).toMatchObject({
      code: 'bad_selector',
      message: 'routes.book.follow[0].links: selector "//a/@href": XPath is not supported, did you mean \'a@href\'?',
    })
    expect(refused({ render: { wait: '//h1' } }).hint).toBe("Write 'h1'.")
  })
})

describe('an option of another name', () => {
  it.each<[definition: object, says: string]>([
    [{ selector: 'h1' }, "unknown option 'selector', did you mean 'select'?"],
    [{ slect: 'h1' }, "unknown option 'slect', did you mean 'select'?"],
    [{ css: 'h1' }, "unknown option 'css', did you mean 'select'?"],
    [{ select: 'h1', type: 'number' }, "unknown option 'type', did you mean 'as'?"],
    [{ select: 'h1', regex: /a/ }, "unknown option 'regex', did you mean 'pattern'?"],
    [{ select: 'h1', as: 'float' }, "did you mean 'number'?"],
    [{ select: 'h1', as: 'nubmer' }, "did you mean 'number'?"],
    [{ select: 'h1', __proto__: null, toString: 1 }, "unknown option 'toString'"],
    [['h1'], 'expected a selector or a field like { select, as }'],
  ])('%j', (definition, says) => {
    expect(field(definition)).toMatchObject({ code: 'spider_invalid', message: expect.stringContaining(says) })
  })

  it('is suggested in rules and routes', () => {
    expect(refused({ follow: [{ selector: 'a' }] }).message).toContain("did you mean 'links'?")
    expect(refused({ hander() {} }).message).toContain("did you mean 'handler'?")
    expect(refused({ fields: { title: 'h1' } }).message).toContain("did you mean 'record'?")
  })
})
