import type { SpiderDefinition } from '../../src/spider/definition.js'
import type { Fixture } from './fixture.js'

type Fetch = NonNullable<SpiderDefinition['fetch']>

/** A case that is one page of the bad server, visited by a worker. */
export function page(number: number, path: string, expected: string, fetch: Fetch = {}): Fixture {
  return {
    number,
    name: path,
    expected,
    run: ({ site, visit }) => visit(site.origin + path, { definition: { fetch } }),
  }
}
