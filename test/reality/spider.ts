import { defineSpider } from 'shoal'
import { burn } from './burn.js'
import type { RealityTask } from './real-run.js'

// In a worker process of `npm run reality`; the task says what the profile says.
const { hosts, start, pace, follows, burnSteps, proxied } = JSON.parse(process.env.REALITY_TASK ?? '{}') as RealityTask

export default defineSpider({
  name: 'reality',
  start: [start],
  scope: { hosts },
  allowPrivate: hosts,
  robots: false,
  pace,
  ...(proxied && { proxy: 'reality' }),
  routes: {
    page: {
      match: '/p/*',
      ...(follows && { follow: [{ links: 'a' }] }),
      handler() {
        burn(burnSteps)
      },
    },
  },
})
