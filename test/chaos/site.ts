/**
 * The site of the chaos runs: `pages` pages over many hosts (each an address), linked as a tree with links across. A pure function
 * of its options, so that the checker knows what a crawl must find without asking Shoal.
 */
export interface SiteOptions {
  readonly pages: number
  readonly hosts: number
  readonly port: number
  /** The first three bytes of the hosts' addresses. */
  readonly network: string
  /** Pages in a thousand that fail, throttle or move. */
  readonly failsOnce: number
  readonly alwaysFails: number
  readonly throttles: number
  readonly moved: number
  /** So many pages at the end of the tree do this to the worker that parses them. */
  readonly burns: number
  readonly bloats: number
  /** How long an answer takes. */
  readonly latencyMs: number
}

export const SITE_DEFAULTS: Omit<SiteOptions, 'pages' | 'port'> = {
  hosts: 50,
  network: '127.0.0',
  failsOnce: 10,
  alwaysFails: 2,
  throttles: 1,
  moved: 5,
  burns: 0,
  bloats: 0,
  latencyMs: 0,
}

type PageKind = 'plain' | 'fails-once' | 'always-fails' | 'throttles' | 'moved' | 'burns' | 'bloats'

/** What a 429 of this site asks for, in seconds. */
export const RETRY_AFTER_S = 1
const CHILDREN = 6
/** Every so many pages one links to a page that robots.txt forbids. */
const FORBIDDEN_EVERY = 500
const ROBOTS = 'User-agent: *\nDisallow: /x/\n'

interface Answer {
  readonly status: number
  readonly body: string
  readonly headers: string
}

export interface Site {
  readonly options: SiteOptions
  readonly origins: readonly string[]
  kindOf(page: number): PageKind
  urlOf(page: number): string
  /** Every URL that a crawl may visit or meet, with what must become of it. */
  readonly urls: ReadonlyMap<string, Expected>
  /** The n-th request of this path on this host. */
  answer(hostIndex: number, path: string, n: number): Answer
}

interface Expected {
  readonly page: number
  readonly end: 'record' | 'dead' | 'skipped'
  /** Requests that a crawl without accidents makes. */
  readonly fetches: number
  /** Reached only through a redirect: in the queue only when its host had no time at that moment. */
  readonly optional: boolean
  readonly kind: PageKind
}

export function createSite(options: SiteOptions, retries = 3): Site {
  const { pages, hosts, port, network } = options
  const origins = Array.from({ length: hosts }, (_, index) => `http://${network}.${index + 1}:${port}`)
  const firstLeaf = Math.ceil((pages - 1) / CHILDREN)
  const specials = options.burns + options.bloats

  const kindOf = (page: number): PageKind => {
    // Only leaves may be lost to their parents' children: everything must stay reachable.
    const isLeaf = page > firstLeaf
    if (isLeaf && page >= pages - options.burns) return 'burns'
    if (isLeaf && page >= pages - specials) return 'bloats'
    const lot = hash(page) % 1000
    if (lot < options.failsOnce) return 'fails-once'
    if (lot < options.failsOnce + options.throttles) return 'throttles'
    if (isLeaf && lot < options.failsOnce + options.throttles + options.alwaysFails) return 'always-fails'
    if (isLeaf && lot < options.failsOnce + options.throttles + options.alwaysFails + options.moved) return 'moved'
    return 'plain'
  }
  const origin = (page: number) => origins[page % hosts] ?? ''
  const urlOf = (page: number) => `${origin(page)}/p/${page}`
  const targetOf = (page: number) => `${origin(page + 1)}/t/${page}`
  const forbiddenOf = (page: number) => `${origin(page)}/x/${page}`

  const urls = new Map<string, Expected>()
  for (let page = 0; page < pages; page++) {
    const kind = kindOf(page)
    const dead = kind === 'always-fails' || kind === 'bloats'
    const fetches = kind === 'always-fails' ? 1 + retries : kind === 'fails-once' || kind === 'throttles' ? 2 : 1
    urls.set(urlOf(page), { page, end: dead ? 'dead' : 'record', fetches, optional: false, kind })
    if (kind === 'moved') urls.set(targetOf(page), { page, end: 'record', fetches: 1, optional: true, kind: 'plain' })
    // One that is never read leads nowhere.
    if (page % FORBIDDEN_EVERY === 1 && !dead)
      urls.set(forbiddenOf(page), { page, end: 'skipped', fetches: 0, optional: false, kind: 'plain' })
  }

  const body = (page: number, n: number): string => {
    const links: string[] = [urlOf(0)]
    for (let child = page * CHILDREN + 1; child <= page * CHILDREN + CHILDREN && child < pages; child++)
      links.push(urlOf(child))
    links.push(urlOf(hash(page + pages) % pages))
    if (page % FORBIDDEN_EVERY === 1) links.push(forbiddenOf(page))
    const kind = kindOf(page)
    const special = kind === 'burns' || kind === 'bloats' ? `<i class="${kind}">!</i>` : ''
    const anchors = links.map((href) => `<a href="${href}">${href.length}</a>`).join('\n')
    return `<!doctype html><title>${page}</title><h1>${page}</h1><b>${n}</b>${special}\n${anchors}\n`
  }

  const html = (page: number, n: number): Answer => ({ status: 200, body: body(page, n), headers: '' })

  return {
    options,
    origins,
    kindOf,
    urlOf,
    urls,
    answer(hostIndex, path, n) {
      if (path === '/robots.txt') return { status: 200, body: ROBOTS, headers: '' }
      const page = Number(path.slice(3))
      const known = /^\/[pt]\/\d+$/.test(path) && page < pages
      const target = path.startsWith('/t/')
      if (!known || (target ? kindOf(page) !== 'moved' : page % hosts !== hostIndex))
        return { status: 404, body: '', headers: '' }
      const kind = target ? 'plain' : kindOf(page)
      if (kind === 'moved') return { status: 301, body: '', headers: `location: ${targetOf(page)}\r\n` }
      if (kind === 'always-fails' || (kind === 'fails-once' && n === 1)) return { status: 500, body: '', headers: '' }
      if (kind === 'throttles' && n === 1)
        return { status: 429, body: '', headers: `retry-after: ${RETRY_AFTER_S}\r\n` }
      return html(page, n)
    },
  }
}

/** The same for the same number; well mixed. */
function hash(value: number): number {
  let h = Math.imul(value ^ 0x9e3779b9, 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
