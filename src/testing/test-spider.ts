import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../clock.js'
import { isShoalError, ShoalError } from '../errors.js'
import { type Difference, differences } from '../fixture/differences.js'
import { expectedOf } from '../fixture/fixture.js'
import { readFixture } from '../fixture/fixture-files.js'
import { type GivenPage, handlePage, type PageResult } from '../fixture/page-result.js'
import { jsonCopy } from '../json/copy.js'
import { asArguments } from '../spider/arguments.js'
import type {
  DataOption,
  DefinedSpider,
  OutputOf,
  RecordDefinitions,
  TaggedBuilder,
  TaggedDefinition,
} from '../spider/definition.js'
import { spiderFromDefinition } from '../spider/resolve.js'
import type { HarvestedRecord } from '../spider/spider.js'
import { isError, textOf } from '../thrown.js'
import type { Json } from '../url/link.js'

/** One page through a spider: its filter, rules, handler, steps and schemas, as in a crawl. Nothing is fetched, stored or queued. */
export interface SpiderTest<Kinds extends RecordDefinitions, Data> {
  /** Rejects with what the handler throws; with a ShoalError if the URL is out of scope, no route matches it, or the handler takes too long. */
  page(page: TestPage<Data>): Promise<TestResult<Kinds>>
  /**
   * The same with a page that `shoal try --save` has saved. A relative path starts from the working directory of the test runner. `url` is for a
   * page without a JSON file.
   */
  fixture(file: string | URL, page?: { readonly url?: string }): Promise<FixtureResult<Kinds>>
}

export interface TestPageBasics {
  readonly url: string
  /** The link that led to `url` by a redirect. Default: `url`. */
  readonly requestedUrl?: string
  /** The page as text; or `json`, or `body`. */
  readonly html?: string
  /** A value that the page is the JSON text of. */
  readonly json?: unknown
  /** The bytes of the page, for other encodings than UTF-8 and other types than HTML; `headers` say which. */
  readonly body?: Uint8Array
  /** Default 200. A crawl hands only pages from 200 to 299 to a route. */
  readonly status?: number
  /** Default: a content-type for `html` or `json`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Clicks from the start. Default 0. */
  readonly depth?: number
}

/** Without `route`, the first route that matches the URL; `data` is that of the link. */
export type TestPage<Data = Readonly<Record<string, unknown>>> =
  | (TestPageBasics & { readonly route?: undefined; readonly data?: unknown })
  | { [Route in keyof Data]: TestPageBasics & { readonly route: Route } & DataOption<Data[Route]> }[keyof Data]

export interface TestResult<Kinds extends RecordDefinitions = RecordDefinitions> extends Omit<PageResult, 'records'> {
  readonly records: readonly TestedRecord<Kinds>[]
}

export interface FixtureResult<Kinds extends RecordDefinitions = RecordDefinitions> extends TestResult<Kinds> {
  /** What has changed since the page was saved; empty: nothing. `shoal check` prints the same. */
  readonly differences: readonly Difference[]
}

/** A record as it would be stored, its data typed by the schema of its kind. */
export type TestedRecord<Kinds extends RecordDefinitions> = string extends keyof Kinds
  ? HarvestedRecord
  : {
      readonly [Kind in keyof Kinds & string]: Omit<HarvestedRecord, 'kind' | 'data'> & {
        readonly kind: Kind
        readonly data: OutputOf<Kinds[Kind]>
      }
    }[keyof Kinds & string]

export interface TestOptions<Args = unknown> {
  /** Of a spider with arguments, as `shoal run -a name=value` would give them. */
  readonly args?: Args
}

/** Tests what `defineSpider` returned: `await testSpider(spider).page({ url, html })`. Needs no server, and works in every test runner. */
export function testSpider<Kinds extends RecordDefinitions, Data, Args = unknown>(
  defined: TaggedDefinition<Kinds, Data> | TaggedBuilder<Kinds, Data, Args>,
  { args }: TestOptions<Args> = {},
): SpiderTest<Kinds, Data> {
  const spider = spiderFromDefinition(defined as DefinedSpider, asArguments(args))
  const handle = async (page: GivenPage) => {
    const result = await handlePage(spider, page, systemClock).catch(thrown)
    // The schemas have validated what the types promise.
    return result as TestResult<Kinds>
  }
  return {
    page: async (page) => handle(givenPage(page)),
    async fixture(file, { url } = {}) {
      const { page, expected, ignore } = await readFixture(
        resolve(file instanceof URL ? fileURLToPath(file) : file),
        url,
      )
      const result = await handle(page)
      const changed = expected === null ? [] : differences(expected, expectedOf(result as PageResult), ignore)
      return { ...result, differences: changed }
    },
  }
}

/** A test runner shows the line of the handler that failed only if it gets the handler's own error. */
function thrown(error: unknown): never {
  throw isShoalError(error) && error.code === 'handler_error' && isError(error.cause) ? error.cause : error
}

function givenPage<Data>(page: TestPage<Data>): GivenPage {
  const { url, requestedUrl = url, route, data, status = 200, depth = 0 } = page
  return {
    url,
    requestedUrl,
    status,
    ...content(page),
    route: route === undefined ? null : String(route),
    depth,
    ...(data !== undefined && { data: jsonOf('data', data) }),
  }
}

function content({ html, json, body, headers: given = {} }: TestPageBasics): Pick<GivenPage, 'headers' | 'body'> {
  if ([html, json, body].filter((one) => one !== undefined).length > 1)
    throw misuse('a page has one of html, json and body')
  const headers = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]))
  if (body !== undefined) return { headers, body }
  const text = json === undefined ? (html ?? '') : JSON.stringify(jsonOf('json', json))
  const type = headers['content-type'] ?? (json === undefined ? 'text/html' : 'application/json')
  // The bytes below are UTF-8, whatever the page is in the wild.
  const [essence] = type.split(';')
  return { headers: { ...headers, 'content-type': `${essence}; charset=utf-8` }, body: new TextEncoder().encode(text) }
}

function jsonOf(name: string, value: unknown): Json {
  try {
    return jsonCopy(value)
  } catch (error) {
    throw misuse(`${name} must be JSON: ${textOf(error)}`)
  }
}

function misuse(message: string): ShoalError {
  return new ShoalError('usage', `testSpider: ${message}`, { hint: 'docs/testing.md shows what a test page can have.' })
}
