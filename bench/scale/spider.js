import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { defineSpider } from '../../dist/index.js'
import { burn } from './burn.js'
import { MIXED_EVERY } from './plan.js'

const { dir, steps, allowed } = JSON.parse(process.env.BENCH_TASK)
/** One line per page that this worker has handled. Only a worker's own thread writes. */
const handled = isMainThread ? null : openSync(join(dir, `${process.pid}.log`), 'a')

/** Product defaults, except the pace. */
export const scaleSpider = (name, pace, more = {}) =>
  defineSpider({
    name,
    // Never used: the bench adds the pages of each crawl.
    start: [`http://${allowed[0]}/cpu/0`],
    scope: { hosts: allowed },
    allowPrivate: allowed,
    pace,
    ...more,
    routes: {
      page: {
        match: '/*/*',
        handler(page) {
          const [, kind, nth] = new URL(page.url).pathname.split('/')
          if (kind === 'cpu' || (kind === 'mixed' && Number(nth) % MIXED_EVERY === 0)) burn(steps)
          if (handled !== null) writeSync(handled, `${nth} ${Date.now()}\n`)
        },
      },
    },
  })
