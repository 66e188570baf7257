import { z } from 'zod'
import { kindName, paging, spiderName } from './inputs.js'
import { type Route, route } from './route.js'
import { auditEntry, pageOf, recordsPage } from './schemas.js'

const TEXT_MOST = 200

export const recordRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/records',
    summary: 'Records, with a search for plain text; a page may be short, or empty, and not the last',
    query: z.strictObject({
      ...paging,
      spider: spiderName.optional(),
      kind: kindName.optional(),
      text: z.string().max(TEXT_MOST).optional(),
    }),
    answer: recordsPage,
    async handle({ backends, cursors }, { query: { limit, after, spider, kind, text } }) {
      const list = `records ${spider ?? ''} ${kind ?? ''} ${text ?? ''}`
      const [found, counts] = await Promise.all([
        backends.store.search.find({
          limit,
          ...(spider === undefined ? {} : { spider }),
          ...(kind === undefined ? {} : { kind }),
          ...(text === undefined ? {} : { text }),
          ...(after === undefined ? {} : { after: cursors.unwrap(list, after) }),
        }),
        backends.store.records.counts(spider === undefined ? {} : { spider }),
      ])
      return {
        items: found.records.map((record) => ({
          spider: record.spider,
          site: record.site,
          kind: record.kind,
          key: record.key,
          url: record.url,
          changedAt: record.updatedAt,
          data: record.data,
        })),
        next: found.next === null ? null : cursors.wrap(list, found.next),
        searched: found.searched,
        kinds: counts.map((one) => ({ spider: one.spider, kind: one.kind, count: one.records })),
      }
    },
  }),
  route({
    method: 'GET',
    path: '/api/audit',
    summary: 'The audit log, newest first',
    query: z.strictObject(paging),
    answer: pageOf(auditEntry),
    async handle({ backends, cursors }, { query: { limit, after } }) {
      const { entries, next } = await backends.store.audit.entries({
        limit,
        ...(after === undefined ? {} : { after: cursors.unwrap('audit', after) }),
      })
      return { items: entries, next: next === null ? null : cursors.wrap('audit', next) }
    },
  }),
]
