import { seededRandom } from '../clock.js'
import { type Product, pageHtml, productBlock, productCard } from './html.js'
import { ADJECTIVES, CATEGORIES, NOUNS, prose } from './words.js'

/**
 * The demo shop: a whole site as a pure function of its options. The same options give the same pages, including the slow and broken ones, so that a crawl can
 * be compared with the site's own list.
 */
export interface ShopOptions {
  readonly seed: number
  /** Number of product pages. Listings, redirects and the rest are added: see `siteMap`. */
  readonly pages: number
  /** Approximate size of a product page. */
  readonly bytes: number
  /** 1: the usual share of slow and failing pages; 0: none; 2: twice as many. */
  readonly faults: number
}

export const SHOP_DEFAULTS: ShopOptions = { seed: 1, pages: 300, bytes: 6_000, faults: 1 }

/** One URL that a crawl of the whole shop fetches: everything that is linked, except what robots.txt disallows and the endless calendar. */
export interface SitePage {
  readonly path: string
  readonly kind: 'listing' | 'product' | 'info' | 'moved' | 'missing'
  /** Ends among the dead letters. */
  readonly alwaysFails: boolean
  /** Responds with 500 or 429 this often before it works. */
  readonly failsFirst: number
  readonly slowMs: number
  /** The target of a moved page, which is linked from nowhere else. */
  readonly movedTo?: string
  /** The record of a product page. */
  readonly product?: Product
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The server waits this long before it responds. */
  readonly delayMs: number
}

export interface Shop {
  readonly options: ShopOptions
  siteMap(): SitePage[]
  /** The response to the `nth` request (from 1) for a path with its query. `origin` is only used in robots.txt and the sitemap. */
  answer(path: string, nth: number, origin: string): Answer
}

/** Never to be fetched: robots.txt disallows the first two, and the last is an endless calendar. */
export const FORBIDDEN = ['/private/', '/calendar/', '/events/'] as const
const MISSING = '/catalogue/discontinued_0/index.html'
const ABOUT = '/about.html'
const PER_LISTING = 20
const RELATED = 8
/** The limit of the sitemap protocol for one file. */
const SITEMAP_MAX = 50_000
const CALENDAR_START = 2026 * 12

type Role = 'dead' | 'flaky' | 'throttled' | 'slow' | 'moved'

export function createShop(options: ShopOptions): Shop {
  const { seed, pages } = options
  const roles = castRoles(options)
  const categories = CATEGORIES.slice(0, Math.max(1, Math.min(CATEGORIES.length, Math.floor(pages / 50))))
  const navigation = [
    { href: '/', text: 'Home' },
    ...categories.map((name) => ({ href: categoryPath(name, 1), text: name })),
    { href: ABOUT, text: 'About' },
    { href: '/private/account.html', text: 'Account' },
    { href: '/events/?month=2026-01', text: 'Events' },
  ]
  const inCategory = (index: number) => Math.floor((pages - firstOf(index)) / categories.length) + 1
  const firstOf = (index: number) => (index === 0 ? categories.length : index)

  const product = (number: number): Product => {
    const value = mix(seed, number)
    const adjective = ADJECTIVES[value % ADJECTIVES.length] as string
    const noun = NOUNS[(value >>> 8) % NOUNS.length] as string
    return {
      number,
      title: `${adjective} ${noun} No. ${number}`,
      price: (500 + ((value >>> 3) % 9_500)) / 100,
      sku: `SH-${String(number).padStart(6, '0')}`,
      stock: (value >>> 16) % 40,
      path: `/catalogue/${adjective}-${noun}_${number}/index.html`.toLowerCase(),
      category: categories[number % categories.length] as string,
    }
  }
  /** Moved products are linked by their old URL everywhere, so that each page can be reached in one way. */
  const linkTo = (number: number) => (roles.get(number) === 'moved' ? oldPath(number) : product(number).path)
  const card = (number: number) => productCard(product(number), linkTo(number))

  const listing = (
    title: string,
    count: number,
    nth: (index: number) => number,
    page: number,
    pathOf: (page: number) => string,
  ) => {
    const last = Math.max(1, Math.ceil(count / PER_LISTING))
    const cards: string[] = []
    for (let index = (page - 1) * PER_LISTING; index < Math.min(count, page * PER_LISTING); index++)
      cards.push(card(nth(index)))
    return pageHtml({
      title: `${title}, page ${page} of ${last}`,
      navigation,
      main: `<h1>${title}</h1>\n<section class="products">\n${cards.join('\n')}\n</section>`,
      pager: {
        ...(page > 1 ? { previous: pathOf(page - 1) } : {}),
        ...(page < last ? { next: pathOf(page + 1) } : {}),
        label: `Page ${page} of ${last}`,
      },
    })
  }

  const catalogueListing = (page: number) => listing('All products', pages, (index) => index + 1, page, cataloguePath)

  const categoryListing = (index: number, page: number) => {
    const name = categories[index] as string
    const nth = (at: number) => firstOf(index) + at * categories.length
    return listing(name, inCategory(index), nth, page, (other) => categoryPath(name, other))
  }

  const productPage = (number: number) => {
    const item = product(number)
    const related: string[] = []
    for (let step = 1; step <= Math.min(RELATED, pages - 1); step++) {
      related.push(card(((number - 1 + step * (1 + (mix(seed, number) % 7))) % pages) + 1))
    }
    const frame = (text: string) =>
      pageHtml({
        title: item.title,
        navigation,
        main: productBlock(item, text, related, `/private/basket?add=${item.sku}`),
        pager: null,
      })
    const room = options.bytes - frame('').length
    return frame(room > 0 ? prose(mix(seed, number), room) : '')
  }

  const about = () =>
    pageHtml({
      title: 'About the shop',
      navigation,
      main: `<h1>About the shop</h1>\n<p>${prose(seed, 400)}</p>\n<p>See our <a href="/calendar/2026/">opening hours</a>${
        options.faults > 0 ? ` and our <a href="${MISSING}">discontinued line</a>` : ''
      }.</p>`,
      pager: null,
    })

  /** Every month links to the next and to the previous one, for ever. */
  const calendar = (month: string) => {
    const read = /^(\d{4})-(\d{2})$/.exec(month)
    const at = read === null ? CALENDAR_START : Number(read[1]) * 12 + Number(read[2]) - 1
    const link = (offset: number) =>
      `/events/?month=${Math.floor((at + offset) / 12)}-${String(((at + offset) % 12) + 1).padStart(2, '0')}`
    return pageHtml({
      title: `Events in ${month}`,
      navigation,
      main: `<h1>Events</h1>\n<p>Nothing on this month. Perhaps the next?</p>`,
      pager: { previous: link(-1), next: link(1), label: month },
    })
  }

  const sitemap = (origin: string) => {
    const urls: string[] = [`<url><loc>${origin}/</loc></url>`]
    for (let number = 1; number <= Math.min(pages, SITEMAP_MAX - 1); number++)
      urls.push(`<url><loc>${origin}${product(number).path}</loc></url>`)
    return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${urls.join('\n')}\n</urlset>\n`
  }

  const productAnswer = (number: number, nth: number): Answer => {
    const role = roles.get(number)
    if (role === 'dead') return failure('This page is broken, and stays broken.')
    if (role === 'flaky' && nth <= failuresOf(seed, number)) return failure('Not feeling well. Come back in a moment.')
    if (role === 'throttled' && nth === 1) {
      return { status: 429, headers: { ...TEXT, 'retry-after': '1' }, body: 'One at a time, please.\n', delayMs: 0 }
    }
    return html(productPage(number), role === 'slow' ? slownessOf(seed, number) : 0)
  }

  return {
    options,

    siteMap() {
      const plain = { alwaysFails: false, failsFirst: 0, slowMs: 0 }
      const list: SitePage[] = []
      for (let page = 1; page <= Math.max(1, Math.ceil(pages / PER_LISTING)); page++)
        list.push({ path: cataloguePath(page), kind: 'listing', ...plain })
      categories.forEach((name, index) => {
        for (let page = 1; page <= Math.max(1, Math.ceil(inCategory(index) / PER_LISTING)); page++) {
          list.push({ path: categoryPath(name, page), kind: 'listing', ...plain })
        }
      })
      list.push({ path: ABOUT, kind: 'info', ...plain })
      if (options.faults > 0) list.push({ path: MISSING, kind: 'missing', ...plain, alwaysFails: true })
      for (let number = 1; number <= pages; number++) {
        const item = product(number)
        const role = roles.get(number)
        if (role === 'moved') list.push({ path: oldPath(number), kind: 'moved', ...plain, movedTo: item.path })
        list.push({
          path: item.path,
          kind: 'product',
          alwaysFails: role === 'dead',
          failsFirst: role === 'flaky' ? failuresOf(seed, number) : role === 'throttled' ? 1 : 0,
          slowMs: role === 'slow' ? slownessOf(seed, number) : 0,
          product: item,
        })
      }
      return list
    },

    answer(path, nth, origin) {
      const numbered = /_(\d{1,9})\/index\.html$/.exec(path)
      if (numbered !== null) {
        const number = Number(numbered[1])
        if (number >= 1 && number <= pages && product(number).path === path) return productAnswer(number, nth)
      }
      if (path === '/') return html(catalogueListing(1))
      const catalogue = /^\/catalogue\/page-(\d{1,9})\.html$/.exec(path)
      if (catalogue !== null) {
        const page = Number(catalogue[1])
        if (page >= 2 && page <= Math.ceil(pages / PER_LISTING)) return html(catalogueListing(page))
      }
      const category = /^\/category\/([a-z]+)\/(?:index|page-(\d{1,9}))\.html$/.exec(path)
      if (category !== null) {
        const index = categories.findIndex((name) => name.toLowerCase() === category[1])
        const page = Number(category[2] ?? 1)
        if (index >= 0 && page >= 1 && page <= Math.max(1, Math.ceil(inCategory(index) / PER_LISTING)))
          return html(categoryListing(index, page))
      }
      const old = /^\/old\/(\d{1,9})\.html$/.exec(path)
      if (old !== null && roles.get(Number(old[1])) === 'moved') {
        return {
          status: 301,
          headers: { ...TEXT, location: product(Number(old[1])).path },
          body: 'Moved.\n',
          delayMs: 0,
        }
      }
      if (path === ABOUT) return html(about())
      if (path === '/robots.txt') return { status: 200, headers: TEXT, body: robots(origin), delayMs: 0 }
      if (path === '/sitemap.xml')
        return { status: 200, headers: { 'content-type': 'application/xml' }, body: sitemap(origin), delayMs: 0 }
      if (path.startsWith('/events/'))
        return html(calendar(new URLSearchParams(path.split('?')[1]).get('month') ?? '2026-01'))
      if (path.startsWith('/private/') || path.startsWith('/calendar/'))
        return html('<!doctype html><h1>Not for robots</h1>')
      return { status: 404, headers: TEXT, body: 'No such page.\n', delayMs: 0 }
    },
  }
}

/** Assigns roles to products: an exact number of each, chosen by the seed, at most one per product. At most half of the products have a role. */
function castRoles({ seed, pages, faults }: ShopOptions): Map<number, Role> {
  const share = (part: number) => (faults > 0 ? Math.max(1, Math.round(pages * part * faults)) : 0)
  const parts: [Role, number][] = [
    ['dead', share(0.01)],
    ['flaky', share(0.03)],
    // Each blocks the whole host for a second, so there are few, however large the shop is.
    ['throttled', Math.min(share(0.005), Math.ceil(4 * faults))],
    ['slow', share(0.02)],
    ['moved', Math.max(1, Math.round(pages * 0.01))],
  ]
  const random = seededRandom(seed)
  const roles = new Map<number, Role>()
  for (const [role, count] of parts) {
    for (let given = 0; given < count && roles.size < Math.floor(pages / 2); ) {
      const number = 1 + Math.floor(random() * pages)
      if (roles.has(number)) continue
      roles.set(number, role)
      given++
    }
  }
  return roles
}

function robots(origin: string): string {
  return `User-agent: *\nDisallow: /private/\nDisallow: /calendar/\n\nSitemap: ${origin}/sitemap.xml\n`
}

const TEXT = { 'content-type': 'text/plain; charset=utf-8' } as const

function html(body: string, delayMs = 0): Answer {
  return { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' }, body, delayMs }
}

function failure(body: string): Answer {
  return { status: 500, headers: TEXT, body: `${body}\n`, delayMs: 0 }
}

function cataloguePath(page: number): string {
  return page === 1 ? '/' : `/catalogue/page-${page}.html`
}

function categoryPath(name: string, page: number): string {
  return `/category/${name.toLowerCase()}/${page === 1 ? 'index' : `page-${page}`}.html`
}

function oldPath(number: number): string {
  return `/old/${number}.html`
}

/** Once or twice. */
function failuresOf(seed: number, number: number): number {
  return 1 + (mix(seed, number) % 2)
}

function slownessOf(seed: number, number: number): number {
  return 300 + (mix(seed, number) % 501)
}

/** 32 bits that seem random (the finaliser of MurmurHash3). */
function mix(seed: number, number: number): number {
  let h = (Math.imul(seed, 0x9e3779b1) ^ number) >>> 0
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
