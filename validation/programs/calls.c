/* Instructions of socket calls on a lab kernel, where one instruction takes 1 ns: each row is the median of REP calls. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <x86intrin.h>
#define N 40000
static unsigned long long t[N], r[N]; static int rb[N];
static char buf[1 << 20];
static int cmp(const void*a,const void*b){unsigned long long x=*(unsigned long long*)a,y=*(unsigned long long*)b;return x<y?-1:x>y;}
static void pair(int type,int sb,int*a,int*b,int delay){ struct sockaddr_in s={.sin_family=AF_INET,.sin_addr.s_addr=htonl(0x7f000001)}; socklen_t l=sizeof s; int o=1;
 if(type==SOCK_STREAM){int ls=socket(AF_INET,type,0); if(sb)setsockopt(ls,SOL_SOCKET,SO_RCVBUF,&sb,4),setsockopt(ls,SOL_SOCKET,SO_SNDBUF,&sb,4); bind(ls,(void*)&s,l);listen(ls,5);getsockname(ls,(void*)&s,&l);
  *a=socket(AF_INET,type,0); if(sb)setsockopt(*a,SOL_SOCKET,SO_RCVBUF,&sb,4),setsockopt(*a,SOL_SOCKET,SO_SNDBUF,&sb,4); connect(*a,(void*)&s,l); *b=accept(ls,0,0); if(!delay)setsockopt(*a,6,TCP_NODELAY,&o,4),setsockopt(*b,6,TCP_NODELAY,&o,4);}
 else {*b=socket(AF_INET,type,0); if(sb)setsockopt(*b,SOL_SOCKET,SO_RCVBUF,&sb,4); bind(*b,(void*)&s,l); getsockname(*b,(void*)&s,&l); *a=socket(AF_INET,type,0); if(sb)setsockopt(*a,SOL_SOCKET,SO_SNDBUF,&sb,4); connect(*a,(void*)&s,l);} }
/* send until EAGAIN, print each cost; then receive until EAGAIN, print each */
static void fill(const char*name,int a,int b,int ms,int rs,int rounds,int print,int max){
 for(int k=0;k<rounds;k++){int n=0,m=0; for(;n<N&&n<max;n++){unsigned long long x=__rdtsc();int e=send(a,buf,ms,MSG_DONTWAIT);t[n]=__rdtsc()-x;if(e<0)break;}
  unsigned long long tf=t[n];
  for(;m<N;m++){unsigned long long x=__rdtsc();rb[m]=recv(b,buf,rs,MSG_DONTWAIT);r[m]=__rdtsc()-x;if(rb[m]<=0)break;}
  if(k==rounds-1||print){printf("%s ms %d rs %d sent %d:",name,ms,rs,n);for(int i=0;i<n&&i<64;i++)printf(" %llu",t[i]);printf(" | full %llu | recv %d:",tf,m);for(int i=0;i<m&&i<64;i++)printf(" %llu%s",r[i],rb[i]!=rs?"*":"");printf(" | empty %llu\n",r[m]);}
 }}
int main(){ int a,b; unsigned long long x=0; memset(buf,1,sizeof buf);
 for(int i=0;i<1000;i++){x=__rdtsc();t[i]=__rdtsc()-x;} qsort(t,1000,8,cmp); printf("rdtsc %llu\n",t[500]);
 for(int i=0;i<1000;i++){x=__rdtsc();getppid();t[i]=__rdtsc()-x;} qsort(t,1000,8,cmp); printf("getppid %llu\n",t[500]);
 int ms[]={1,256,1024,4096}; 
 for(int i=0;i<4;i++){pair(SOCK_STREAM,8192,&a,&b,0); fill("tcp8k",a,b,ms[i],ms[i],6,0,1000);close(a);close(b);}
 pair(SOCK_STREAM,8192,&a,&b,0); fill("tcp8k",a,b,256,256,3,1,1000); fill("tcp8k-max11",a,b,256,256,4,0,11); fill("tcp8k-1",a,b,256,256,20,0,1); fill("tcp8k-1",a,b,1,1,20,0,1); fill("tcp8k-1",a,b,1024,1024,20,0,1);fill("tcp8k-1",a,b,4096,4096,20,0,1); close(a);close(b);
 pair(SOCK_STREAM,0,&a,&b,0); fill("tcp",a,b,256,256,3,0,100); fill("tcp",a,b,256,16384,3,0,100); fill("tcp",a,b,16384,16384,3,0,100); 
 for(int i=0;i<40;i++){ if(i==39)x=1; unsigned long long q[5]; q[0]=__rdtsc();send(a,buf,1,0);q[1]=__rdtsc();recv(b,buf,1,0);q[2]=__rdtsc();send(b,buf,1,0);q[3]=__rdtsc();recv(a,buf,1,0);q[4]=__rdtsc(); if(i==39)printf("rr send %llu recv %llu send %llu recv %llu\n",q[1]-q[0],q[2]-q[1],q[3]-q[2],q[4]-q[3]);} close(a);close(b);
 for(int i=0;i<4;i++){pair(SOCK_DGRAM,262144,&a,&b,0); for(int k=0;k<3;k++){int n=i==3?120:1500; for(int j=0;j<n;j++){unsigned long long y=__rdtsc();int e=send(a,buf,ms[i],MSG_DONTWAIT);t[j]=__rdtsc()-y;if(e<0)t[j]=0;}
   int m=0;for(;m<N;m++){unsigned long long y=__rdtsc();rb[m]=recv(b,buf,65536,MSG_DONTWAIT);r[m]=__rdtsc()-y;if(rb[m]<0)break;}
   printf("udp ms %d sent %d got %d: send %llu %llu %llu dropped %llu | recv %llu %llu %llu empty %llu\n",ms[i],n,m,t[5],t[20],t[m-2],t[n-2],r[3],r[m/2],r[m-2],r[m]);} close(a);close(b);}
 for(int i=0;i<4;i++){int f[2];socketpair(AF_UNIX,SOCK_STREAM,0,f); fill("unix",f[0],f[1],ms[i],ms[i],3,0,100); close(f[0]);close(f[1]);}
 {int f[2];socketpair(AF_UNIX,SOCK_STREAM,0,f);fill("unix",f[0],f[1],100,100,3,0,1000);}
 {int f[2];pipe(f); for(int s=0;s<3;s++){int z=s==0?100:s==1?1024:4096; for(int k=0;k<50;k++){unsigned long long y=__rdtsc();write(f[1],buf,z);t[k]=__rdtsc()-y;y=__rdtsc();read(f[0],buf,z);r[k]=__rdtsc()-y;} printf("pipe %d write %llu read %llu\n",z,t[49],r[49]);} for(int k=0;k<10;k++){unsigned long long y=__rdtsc();write(f[1],buf,100);t[k]=__rdtsc()-y;} for(int k=0;k<10;k++){unsigned long long y=__rdtsc();read(f[0],buf,100);r[k]=__rdtsc()-y;} printf("pipe burst write %llu %llu %llu read %llu %llu %llu\n",t[0],t[1],t[5],r[0],r[5],r[9]);}
 return 0;}
