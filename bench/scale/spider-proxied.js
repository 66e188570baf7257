import { PROXY_DELAY_MS } from './plan.js'
import { scaleSpider } from './spider.js'

export default scaleSpider('proxied', { delay: `${PROXY_DELAY_MS}ms`, concurrency: 1 }, { proxy: 'bench' })
