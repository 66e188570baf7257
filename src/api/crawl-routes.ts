import { z } from 'zod'
import { setCrawlState } from '../coordinator/file-crawl.js'
import { ShoalError } from '../errors.js'
import { SPANS } from '../observe/series/series.js'
import { readSeries } from '../observe/series/series-notes.js'
import { crawlId, paging, spiderName } from './inputs.js'
import type { Begun } from './parts.js'
import { audited } from './parts.js'
import { OK, type Route, route } from './route.js'
import { crawlCard, crawlView, done, overview, pageOf, seriesView, span, started } from './schemas.js'

const aCrawl = z.strictObject({ crawl: crawlId })
const STATES = { pause: 'paused', resume: 'running', cancel: 'cancelled' } as const

export const crawlRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/overview',
    summary: 'Overview: health, the newest crawls, workers, alerts',
    answer: overview,
    handle: ({ snapshots }) => snapshots.overview(),
  }),
  route({
    method: 'GET',
    path: '/api/crawls',
    summary: 'Crawls, newest first',
    query: z.strictObject(paging),
    answer: pageOf(crawlCard),
    async handle({ snapshots, cursors }, { query: { limit, after } }) {
      const crawls = await snapshots.crawls()
      const last = after === undefined ? null : cursors.unwrap('crawls', after)
      const place = last === null ? -1 : crawls.findIndex(({ id }) => id === last)
      // Deleted in the meantime: the caller has to start over.
      const items = crawls.slice(place + 1, place + 1 + limit)
      const end = items.at(-1)
      return {
        items: await Promise.all(items.map((crawl) => snapshots.card(crawl))),
        next: end === undefined || place + 1 + limit >= crawls.length ? null : cursors.wrap('crawls', end.id),
      }
    },
  }),
  route({
    method: 'POST',
    path: '/api/crawls',
    summary:
      'Start a crawl of a spider, or resume its unfinished one, which `fresh` cancels (`setAside`); start URLs are added in the background',
    body: z.strictObject({ spider: spiderName, fresh: z.boolean() }),
    answer: started,
    async handle(api, { body: { spider, fresh } }) {
      if (!api.spiders.has(spider))
        throw new ShoalError('not_found', `the spider '${spider}' cannot be started from here`, {
          hint: 'Pass its file: shoal dashboard <spider file>.',
        })
      const shown = ({ crawl, resumed, setAside }: Begun) => ({ crawl, resumed, setAside: setAside?.id ?? null })
      const begun = await audited(
        api,
        { action: 'crawl.start', target: spider, details: { fresh } },
        () => api.start(spider, fresh),
        shown,
      )
      return shown(begun)
    },
  }),
  route({
    method: 'GET',
    path: '/api/crawls/:crawl',
    summary: 'One crawl',
    params: aCrawl,
    answer: crawlView,
    handle: ({ snapshots }, { params }) => snapshots.crawl(params.crawl),
  }),
  ...(['pause', 'resume', 'cancel'] as const).map((verb) =>
    route({
      method: 'POST',
      path: `/api/crawls/:crawl/${verb}`,
      summary: {
        pause: 'Pause it: no new pages are started, pages in flight are finished',
        resume: 'Resume it',
        cancel: 'Stop it for good; its records are kept',
      }[verb],
      params: aCrawl,
      body: z.strictObject({}),
      answer: done,
      async handle(api, { params: { crawl } }) {
        await audited(api, { action: `crawl.${verb}`, target: crawl }, () =>
          setCrawlState(api.backends.frontier, crawl, STATES[verb]),
        )
        return OK
      },
    }),
  ),
  route({
    method: 'GET',
    path: '/api/crawls/:crawl/series',
    summary: 'The crawl over time',
    params: aCrawl,
    query: z.strictObject({ span: span.default('30m') }),
    answer: seriesView,
    async handle({ backends, snapshots }, { params: { crawl }, query: { span } }) {
      await snapshots.known(crawl)
      return { span, everyMs: SPANS[span], samples: await readSeries(backends.notes, crawl, span) }
    },
  }),
]
