import { z } from 'zod'
import { version } from '../version.js'
import type { Route } from './route.js'
import { apiError } from './schemas.js'

/** The routes as an OpenAPI 3.1 document. */
export function describeApi(routes: readonly Route[]): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Shoal',
      version,
      description: 'Watch and control crawls, hosts, links, workers, proxies and records.',
    },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: shapeOf(apiError, 'output') },
      responses: {
        Error: {
          description: 'The error, and what to do about it',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      },
    },
  }
}

function operation({ method, path, summary, params, query, body, answer, stream }: Route): Record<string, unknown> {
  const schema = shapeOf(answer, 'output')
  return {
    operationId: `${method.toLowerCase()}${path.replace(/[^A-Za-z]+([A-Za-z]|$)/g, (_all, letter: string) => letter.toUpperCase())}`,
    summary,
    parameters: [...parameters(params, 'path'), ...parameters(query, 'query')],
    ...(body === null
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: shapeOf(body, 'input') } } } }),
    responses: {
      200: { description: summary, content: { [stream ? 'text/event-stream' : 'application/json']: { schema } } },
      default: { $ref: '#/components/responses/Error' },
    },
  }
}

function parameters(schema: z.ZodObject, place: 'path' | 'query'): Record<string, unknown>[] {
  const { properties = {}, required = [] } = shapeOf(schema, 'input') as {
    properties?: Record<string, unknown>
    required?: string[]
  }
  return Object.entries(properties).map(([name, shape]) => ({
    ...{ name, in: place, schema: shape },
    required: place === 'path' || required.includes(name),
  }))
}

function shapeOf(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, ...shape } = z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' })
  return shape
}
