import { perHost } from './plan.js'
import { scaleSpider } from './spider.js'

export default scaleSpider('one-host', { delay: '0ms', concurrency: perHost(1) })
