// @ts-check
import remarkMath from 'remark-math';
import rehypeKatex from 'rehype-katex';

/** @type {import('@docusaurus/types').Config} */
export default {
  title: 'Physical AI and Humanoid Robotics',
  url: 'https://physical-ai.example',
  baseUrl: '/book/',
  presets: [
    [
      'classic',
      {
        docs: {
          routeBasePath: 'docs',
          sidebarPath: './sidebars.js',
          remarkPlugins: [remarkMath],
          rehypePlugins: [[rehypeKatex, {output: 'mathml'}]],
        },
        blog: false,
      },
    ],
  ],
};
