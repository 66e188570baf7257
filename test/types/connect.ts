/** Checked by the compiler alone (npm run check): every @ts-expect-error below must really be an error. */
import { z } from 'zod'
import { defineSpider, type Shoal, type StoredRecord } from '../../src/index.js'

const spider = defineSpider({
  name: 'types',
  start: ['https://a.example/'],
  records: { page: z.object({ size: z.string().transform(Number) }), free: {} },
  routes: { page: { match: '**' }, tagged: { data: z.object({ tag: z.string() }) } },
})

export async function program(shoal: Shoal): Promise<void> {
  const crawl = await shoal.crawl(spider)
  await crawl.add('https://a.example/', { route: 'page', priority: 3 })
  await crawl.add(['https://a.example/'], { route: 'tagged', data: { tag: 'a' } })
  // @ts-expect-error no such route
  await crawl.add('https://a.example/', { route: 'pgae' })
  // @ts-expect-error this route wants data
  await crawl.add('https://a.example/', { route: 'tagged' })
  // @ts-expect-error of another type
  await crawl.add('https://a.example/', { route: 'tagged', data: { tag: 1 } })
  for await (const record of crawl.subscribe()) {
    if (record.kind === 'free') continue
    const kind: 'page' = record.kind
    const size: number = record.data.size
    // @ts-expect-error as it comes out of the schema
    const text: string = record.data.size
    console.log(kind, size, text)
  }

  const loose = await shoal.crawl('spider.ts')
  await loose.add('https://a.example/', { route: 'any', data: [1] })
  const records: StoredRecord[] = await loose.result('https://a.example/')
  console.log(records)
}
