import { expect, it } from 'vitest'
import { setupWarnings } from '../../src/run/setup-warnings.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'

const spiderWith = (proxy: { proxy?: string }) =>
  spiderFromDefinition(
    defineSpider({ name: 'books', start: ['https://books.example/'], ...proxy, routes: { all: { match: '**' } } }),
  )
const direct = spiderWith({})
const proxied = spiderWith({ proxy: 'default' })
const here = { queue: 'sqlite:a.db', store: 'sqlite:a.db' }

it('warns about records that stay on one machine of a fleet, and names both addresses', () => {
  const [warning, ...others] = setupWarnings({ queue: 'redis://:s3cret@queue', store: 'sqlite:.shoal/shoal.db' }, [])
  expect(warning).toMatch(/^the queue redis:\/\/:\*\*\*@queue is shared, but records go to sqlite:\.shoal\/shoal\.db/)
  expect(others).toEqual([])
  expect(setupWarnings({ queue: 'redis://queue', store: 'postgres://db' }, [])).toEqual([])
  expect(setupWarnings({ queue: 'sqlite:a.db', store: 'postgres://db' }, [])).toEqual([])
  expect(setupWarnings({ queue: 'memory:', store: 'memory:' }, [])).toEqual([])
})

it('warns about proxies that no spider uses: requests would show the address of this machine', () => {
  const settings = { ...here, proxies: 'http://anna:s3cret@proxy:1' }
  const [warning] = setupWarnings(settings, [direct, direct])
  expect(warning).toMatch(/^proxies are set .*PROXY_LIST.* but no spider uses them, so requests are sent directly/)
  expect(warning).not.toContain('s3cret')
  expect(setupWarnings(settings, [direct, proxied])).toEqual([])
  expect(setupWarnings({ ...here, proxies: null }, [direct])).toEqual([])
  expect(setupWarnings(here, [direct])).toEqual([])
})
