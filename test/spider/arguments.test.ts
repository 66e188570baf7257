import type { StandardSchemaV1 } from '@standard-schema/spec'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import type { CrawlArgs } from '../../src/frontier/frontier.js'
import { argsOf, argumentsText, asArguments, isCrawlOf, spiderForCrawl } from '../../src/spider/arguments.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'

const schema = z.object({
  category: z.string().min(2),
  max: z.coerce.number().int().default(5),
  images: z.stringbool().optional(),
})

const shop = defineSpider(schema, (args) => {
  expectTypeOf(args).toEqualTypeOf<{ category: string; max: number; images?: boolean | undefined }>()
  return defineSpider({
    name: 'shop',
    start: [`https://shop.example/${args.category}?max=${args.max}`],
    records: { product: z.object({ title: z.string() }) },
    routes: {
      list: { match: '/**', follow: [{ links: 'a', route: 'product' }] },
      product: {
        data: z.object({ page: z.number() }),
        handler(page, out) {
          expectTypeOf(page.data).toEqualTypeOf<{ page: number }>()
          out.record('product', page.url, { title: args.category })
          // @ts-expect-error: there is no such kind
          out.record('produkt', page.url, { title: args.category })
          // @ts-expect-error: there is no such route
          out.follow('/x', { route: 'products' })
        },
      },
    },
  })
})

const plain = defineSpider({ name: 'plain', start: ['https://a.example/'], routes: { page: { match: '**' } } })

/** As valibot builds it: its fields are called `entries`. */
const likeValibot: StandardSchemaV1<{ page?: string }, { page: string }> & { entries: object } = {
  entries: { page: {} },
  '~standard': {
    version: 1,
    vendor: 'valibot',
    validate: (value) => ({ value: { page: '1', ...(value as object) } }),
  },
}

function refusalOf(given: CrawlArgs, defined: Parameters<typeof spiderFromDefinition>[0] = shop) {
  try {
    spiderFromDefinition(defined, given)
  } catch (error) {
    const { code, message, hint } = error as { code: string; message: string; hint: string }
    return { code, message, hint }
  }
  throw new Error('it was accepted')
}

describe('arguments of a spider', () => {
  it('are read by the schema, with its defaults, and kept as they were given', () => {
    const spider = spiderFromDefinition(shop, { category: 'shoes', max: '10' })
    expect(spider.start).toEqual(['https://shop.example/shoes?max=10'])
    expect(argsOf(spider)).toEqual({ category: 'shoes', max: '10' })
    expect(spiderFromDefinition(shop, { category: 'hats' }).start).toEqual(['https://shop.example/hats?max=5'])
  })

  it('are refused with every reason and the list of arguments', () => {
    const hint = 'Pass arguments with -a <name>=<value>: category (required), max (default 5), images (optional).'
    for (const [given, message] of [
      [{}, 'argument category: is missing'],
      [{ category: 'shoes', max: 'ten' }, "argument max: expected number, not 'ten'"],
      [{ max: '1.5' }, "argument category: is missing; argument max: expected int, not '1.5'"],
      [{ category: 'shoes', kategory: 'x' }, "there is no argument 'kategory', did you mean 'category'?"],
      [{ category: 'shoes', zzz: 'x' }, "there is no argument 'zzz'"],
      [{ category: 'x' }, "argument category: expected string to have >=2 characters, not 'x'"],
      [{ category: 'shoes', images: 'maybe' }, "not 'maybe'"],
      // No member of Object.prototype is a known argument.
      [{ category: 'shoes', constructor: 'x' }, "there is no argument 'constructor'"],
    ] as const) {
      const refusal = refusalOf(given)
      expect(refusal).toMatchObject({ code: 'spider_args', hint })
      expect(refusal.message).toContain(message)
    }
  })

  it('are refused by a spider that takes none', () => {
    expect(refusalOf({ max: '1' }, plain)).toMatchObject({
      code: 'spider_args',
      message: "the spider takes no arguments, but got 'max'",
    })
  })

  it('may have any Standard Schema, with a transformation after it', () => {
    const page = (start: string) => defineSpider({ name: 's', start: [start], routes: { page: { match: '**' } } })
    const valibot = defineSpider(likeValibot, (args) => page(`https://a.example/${args.page}`))
    expect(spiderFromDefinition(valibot).start).toEqual(['https://a.example/1'])
    expect(refusalOf({ pag: '2' }, valibot).message).toBe("there is no argument 'pag', did you mean 'page'?")
    const changed = defineSpider(
      z.object({ urls: z.string() }).transform(({ urls }) => urls.split(',')),
      ([first = '']) => page(first),
    )
    expect(spiderFromDefinition(changed, { urls: 'https://b.example/,x' }).start).toEqual(['https://b.example/'])
    expect(refusalOf({ url: 'x' }, changed).message).toBe("there is no argument 'url', did you mean 'urls'?")
    const any = defineSpider(z.record(z.string(), z.string()), (args) => page(args.start ?? 'https://c.example/'))
    expect(spiderFromDefinition(any, { start: 'https://d.example/', more: 'x' }).start).toEqual(['https://d.example/'])
    const late = defineSpider(z.object({ name: z.string().refine(async () => true) }), () => page('https://a.example/'))
    expect(refusalOf({ name: 'x' }, late).code).toBe('spider_invalid')
  })

  it('need a function that returns a spider', () => {
    const wrong = (build: unknown) => refusalOf({}, defineSpider(z.object({}), build as () => typeof plain))
    for (const build of [() => ({ name: 'x' }), () => null, async () => plain, () => shop])
      expect(wrong(build)).toMatchObject({
        code: 'spider_invalid',
        hint: expect.stringContaining('defineSpider(schema'),
      })
    const throws = () => {
      throw new TypeError('no list of categories')
    }
    expect(wrong(throws).message).toMatch(
      /^test\/spider\/arguments\.test\.ts:\d+:\d+: the function of the spider failed: TypeError: no list of categories$/,
    )
    const bare = defineSpider((() => plain) as unknown as Parameters<typeof defineSpider>[0])
    expect(refusalOf({}, bare as typeof plain)).toMatchObject({
      code: 'spider_invalid',
      message: 'defineSpider got a function, but no schema for its arguments',
    })
  })

  it('are no part of the hash', () => {
    const [shoes, hats] = ['shoes', 'hats'].map((category) => spiderFromDefinition(shop, { category }).hash)
    expect(shoes).toBe(hats)
  })

  it('are the same when the schema reads them so', () => {
    const spider = spiderFromDefinition(shop, { category: 'shoes' })
    const same: CrawlArgs[] = [{ category: 'shoes' }, { max: '5', category: 'shoes' }, { category: 'shoes', max: 5 }]
    for (const args of same) expect(isCrawlOf(spider, args)).toBe(true)
    const others: CrawlArgs[] = [{ category: 'hats' }, { category: 'shoes', max: '6' }, {}, { old: 'argument' }]
    for (const args of [...others, undefined]) expect(isCrawlOf(spider, args)).toBe(false)
    expect(isCrawlOf(spiderFromDefinition(plain))).toBe(true)
    expect(isCrawlOf(spiderFromDefinition(plain), { category: 'shoes' })).toBe(false)
  })

  it('of a crawl build the spider that works on it', () => {
    const spider = spiderFromDefinition(shop, { category: 'shoes' })
    expect(spiderForCrawl(spider, { category: 'shoes', max: '5' })).toBe(spider)
    const hats = spiderForCrawl(spider, { category: 'hats' })
    expect(hats.start).toEqual(['https://shop.example/hats?max=5'])
    expect(argsOf(hats)).toEqual({ category: 'hats' })
    expect(() => spiderForCrawl(spider, { size: '4' })).toThrow("there is no argument 'size'")
    const named = defineSpider(z.object({ site: z.string().default('a') }), ({ site }) =>
      defineSpider({ name: `shop-${site}`, start: [`https://${site}.example/`], routes: { page: { match: '**' } } }),
    )
    expect(() => spiderForCrawl(spiderFromDefinition(named), { site: 'b' })).toThrow('is called shop-b, not shop-a')
  })

  it('from a program must be JSON', () => {
    expect(asArguments(undefined)).toEqual({})
    expect(asArguments({ max: 10, tags: ['a'] })).toEqual({ max: 10, tags: ['a'] })
    for (const wrong of [[], 'x', null, { now: () => 1 }, { set: new Set() }])
      expect(() => asArguments(wrong)).toThrow(expect.objectContaining({ code: 'spider_args' }))
  })

  it('are shown on one line', () => {
    expect(argumentsText({ category: 'shoes', max: 10, tags: ['a', 'b'] })).toBe('category=shoes max=10 tags=["a","b"]')
    expect(argumentsText()).toBe('')
  })
})
