import { z } from 'zod'
import { crawlRoutes } from './crawl-routes.js'
import { fleetRoutes } from './fleet-routes.js'
import { hostRoutes } from './host-routes.js'
import { crawlId } from './inputs.js'
import { linkRoutes } from './link-routes.js'
import { describeApi } from './openapi.js'
import { proxyRoutes } from './proxy-routes.js'
import { recordRoutes } from './record-routes.js'
import { type Route, route } from './route.js'

const description = route({
  method: 'GET',
  path: '/api/openapi.json',
  summary: 'This API, as OpenAPI 3.1',
  answer: z.record(z.string(), z.unknown()),
  handle: async () => described(),
})

/** The handler checks the input; the server then hands the connection to the event hub. */
export const EVENTS_PATH = '/api/events'
const events = route({
  method: 'GET',
  path: EVENTS_PATH,
  summary:
    'Server-sent events, every second: `overview` (as /api/overview), and with a crawl `crawl` (as /api/crawls/{crawl}); `problem` (an error) while there is no data; `bye` when the command ends',
  query: z.strictObject({ crawl: crawlId.optional() }),
  answer: z.string(),
  stream: true,
  handle: async (_api, { query }) => query.crawl ?? '',
})

/** All calls of the API. */
export const ROUTES: readonly Route[] = [
  ...crawlRoutes,
  events,
  ...hostRoutes,
  ...linkRoutes,
  ...fleetRoutes,
  ...proxyRoutes,
  ...recordRoutes,
  description,
]

let made: Record<string, unknown> | null = null

function described(): Record<string, unknown> {
  made ??= describeApi(ROUTES)
  return made
}
