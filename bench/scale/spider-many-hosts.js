import { perHost } from './plan.js'
import { scaleSpider } from './spider.js'

export default scaleSpider('many-hosts', { delay: '0ms', concurrency: perHost(20) })
