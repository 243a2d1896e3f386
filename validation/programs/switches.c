#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <sys/socket.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>
static unsigned long long wk(void){FILE*f=fopen("/proc/schedstat","r");char l[512];unsigned long long a,b,c,d,e=0;while(fgets(l,512,f))if(sscanf(l,"cpu0 %llu %llu %llu %llu %llu",&a,&b,&c,&d,&e)==5)break;fclose(f);return e;}
int main(){ int a[2],b[2],c[2]; char x; unsigned long long t,w;
 pipe(a);pipe(b);
 /* yield alone, yield between two */
 t=__rdtsc();for(int i=0;i<2000;i++)sched_yield();printf("yield alone %llu\n",(__rdtsc()-t)/2000);
 int*stop=mmap(0,4096,3,MAP_SHARED|MAP_ANONYMOUS,-1,0);
 if(!fork()){while(!*stop)sched_yield();_exit(0);}
 for(int i=0;i<100;i++)sched_yield(); t=__rdtsc();for(int i=0;i<4000;i++)sched_yield();printf("yield pair: per yield %llu (two yields a turn)\n",(__rdtsc()-t)/8000);*stop=1;wait(0);
 /* pipe ping pong */
 for(int k=0;k<3;k++){ if(!fork()){close(a[1]);while(read(a[0],&x,1)==1)write(b[1],&x,1);_exit(0);} for(int i=0;i<200;i++){write(a[1],&x,1);read(b[0],&x,1);} usleep(20000*k); w=wk(); t=__rdtsc(); for(int i=0;i<3000;i++){write(a[1],&x,1);read(b[0],&x,1);} t=__rdtsc()-t; printf("pipe pingpong per turn %llu wakeups per turn %.3f\n",t/3000,(wk()-w)/3000.0); close(a[1]);wait(0);pipe(a);}
 int s[2]; for(int k=0;k<3;k++){socketpair(AF_UNIX,SOCK_STREAM,0,s); if(!fork()){close(s[0]);while(read(s[1],&x,1)==1)write(s[1],&x,1);_exit(0);} close(s[1]); usleep(20000*k); w=wk();t=__rdtsc(); for(int i=0;i<3000;i++){write(s[0],&x,1);read(s[0],&x,1);} t=__rdtsc()-t; printf("unix pingpong per turn %llu wakeups per turn %.3f\n",t/3000,(wk()-w)/3000.0); close(s[0]);wait(0);}
 unsigned *f=(unsigned*)stop; f[1]=f[2]=0; if(!fork()){for(int i=0;i<3000;i++){while(!f[1])syscall(SYS_futex,f+1,FUTEX_WAIT,0,0,0,0);f[1]=0;f[2]=1;syscall(SYS_futex,f+2,FUTEX_WAKE,1,0,0,0);}_exit(0);} usleep(10000); w=wk();t=__rdtsc();for(int i=0;i<3000;i++){f[1]=1;syscall(SYS_futex,f+1,FUTEX_WAKE,1,0,0,0);while(!f[2])syscall(SYS_futex,f+2,FUTEX_WAIT,0,0,0,0);f[2]=0;} t=__rdtsc()-t; printf("futex pingpong per turn %llu wakeups %.3f\n",t/3000,(wk()-w)/3000.0); wait(0);
 t=__rdtsc();for(int i=0;i<1000;i++)syscall(SYS_futex,f+1,FUTEX_WAKE,1,0,0,0);printf("futex wake none %llu\n",(__rdtsc()-t)/1000);
 for(int i=0;i<3;i++){t=__rdtsc();if(!fork())_exit(0);w=__rdtsc();wait(0);printf("fork %llu to reap %llu\n",w-t,__rdtsc()-t);}
 return 0;}
