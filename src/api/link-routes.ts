import { z } from 'zod'
import { explainedDead, ShoalError } from '../errors.js'
import type { LinkInfo, LinkSteered } from '../frontier/frontier.js'
import { readUrlHistory } from '../observe/explain/url-history.js'
import type { WorkerSnapshot } from '../observe/snapshots/snapshot.js'
import type { LinkView } from './api-types.js'
import { findLinks } from './find-links.js'
import { hostShown } from './host-routes.js'
import { crawlId, errorCode, fingerprint, hostKey, paging } from './inputs.js'
import { audited } from './parts.js'
import { OK, type Route, route } from './route.js'
import { counted, deadView, done, history, linkState, linkView, pageOf } from './schemas.js'

const aCrawl = z.strictObject({ crawl: crawlId })
const URL_MOST = 8_192
const aLink = z.strictObject({ crawl: crawlId, fp: fingerprint })

export const linkRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/crawls/:crawl/links',
    summary: 'Links of a crawl, by state, host and error; a page may be short, or empty, and not the last',
    params: aCrawl,
    query: z.strictObject({
      ...paging,
      state: linkState.optional(),
      host: hostKey.optional(),
      code: errorCode.optional(),
    }),
    answer: pageOf(linkView),
    async handle(
      { backends, snapshots, cursors, clock },
      { params: { crawl }, query: { limit, after, state, host, code } },
    ) {
      const list = `links ${crawl} ${state ?? ''} ${host ?? ''} ${code ?? ''}`
      const [{ links, next }, workers] = await Promise.all([
        findLinks(backends.frontier, {
          ...{ crawl, limit },
          ...(state === undefined ? {} : { state }),
          ...(host === undefined ? {} : { host }),
          ...(code === undefined ? {} : { code }),
          ...(after === undefined ? {} : { after: cursors.unwrap(list, after) }),
        }),
        snapshots.workers(),
      ])
      const now = clock.now()
      const proxies = proxiesInFlight(workers)
      return {
        items: links.map((link) => linkAsView(link, proxies, now)),
        next: next === null ? null : cursors.wrap(list, next),
      }
    },
  }),
  ...(['promote', 'retry', 'remove'] as const).map((verb) =>
    route({
      method: 'POST',
      path: `/api/crawls/:crawl/links/:fp/${verb}`,
      summary: {
        promote: 'Move it to the front of its host, due now',
        retry: 'Make it due now; a dead letter is replayed',
        remove: 'Give it up',
      }[verb],
      params: aLink,
      body: z.strictObject({ host: hostKey }),
      answer: done,
      async handle(api, { params: { crawl, fp }, body: { host } }) {
        await audited(api, { action: `link.${verb}`, target: fp, details: { crawl, host } }, async () => {
          const steered = await api.backends.frontier.steer(crawl, fp, host, verb)
          if (steered !== 'ok') throw notSteered(steered)
        })
        return OK
      },
    }),
  ),
  route({
    method: 'GET',
    path: '/api/crawls/:crawl/dead',
    summary: 'Dead letters, grouped by error',
    params: aCrawl,
    answer: deadView,
    async handle({ snapshots }, { params: { crawl } }) {
      const groups = await snapshots.dead(crawl)
      return { groups: groups.map((group) => ({ ...group, hint: explainedDead(group.code) })) }
    },
  }),
  ...(['replay', 'purge'] as const).map((verb) =>
    route({
      method: 'POST',
      path: `/api/crawls/:crawl/dead/${verb}`,
      summary: verb === 'replay' ? 'Put dead letters back into the queue' : 'Delete dead letters for good',
      params: aCrawl,
      body: z.strictObject({
        fp: fingerprint.optional(),
        code: errorCode.optional(),
        host: hostKey.optional(),
      }),
      answer: counted,
      async handle(api, { params: { crawl }, body: { fp, code, host } }) {
        const filter = {
          ...(fp === undefined ? {} : { fp }),
          ...(code === undefined ? {} : { code }),
          ...(host === undefined ? {} : { host }),
        }
        const count = await audited(
          api,
          { action: `dead.${verb}`, target: crawl, details: filter },
          () => api.backends.frontier[verb](crawl, filter),
          (count) => ({ count }),
        )
        api.snapshots.forgetDead(crawl)
        return { count }
      },
    }),
  ),
  route({
    method: 'GET',
    path: '/api/crawls/:crawl/explain',
    summary: 'The history of a URL',
    params: aCrawl,
    query: z.strictObject({ url: z.string().min(1).max(URL_MOST) }),
    answer: history,
    async handle({ backends, snapshots, clock, spiderOf }, { params, query: { url } }) {
      const crawl = await snapshots.known(params.crawl)
      const spider = await spiderOf(crawl)
      const history = await readUrlHistory(backends, { crawl: crawl.id, url, spider, now: clock.now() })
      return {
        ...history,
        link: history.link === null ? null : linkShown(history.link),
        host: history.host === null ? null : hostShown(history.host),
      }
    },
  }),
]

/** Headers, body and the user's own data may contain secrets, so they are left out. */
function linkShown({ data: _data, request: _request, ...shown }: LinkInfo) {
  return shown
}

function linkAsView(link: LinkInfo, proxies: ReadonlyMap<string, string>, now: number): LinkView {
  return {
    ...linkShown(link),
    ageMs: link.leasedAt === null || link.state !== 'leased' ? null : Math.max(0, now - link.leasedAt),
    proxy: link.state === 'leased' ? (proxies.get(link.fp) ?? null) : null,
  }
}

function proxiesInFlight(workers: readonly WorkerSnapshot[]): ReadonlyMap<string, string> {
  return new Map(
    workers.flatMap(({ vitals }) =>
      (vitals?.inFlight ?? []).flatMap(({ fp, proxy }) =>
        proxy === null ? [] : [[fp, `${proxy.pool}/${proxy.proxy}`] as const],
      ),
    ),
  )
}

function notSteered(why: Exclude<LinkSteered, 'ok'>): ShoalError {
  const [code, message, hint] = {
    in_flight: ['link_busy', 'the link is in flight', 'Wait until the visit has ended, then try again.'],
    ended: ['link_busy', 'the link has already ended', 'See its history; a dead letter can be replayed.'],
    too_far: [
      'link_busy',
      'the link is too far back in the queue of its host to be found',
      'Try again when the queue of its host is shorter.',
    ],
    unknown: ['not_found', 'no such link in this crawl', 'Reload the list.'],
  }[why] as ['link_busy' | 'not_found', string, string]
  return new ShoalError(code, message, { hint })
}
